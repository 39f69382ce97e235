/** Waits for messages of another process: the next one of a type, or the exit of the process. */

export class MessageWaiter<From> {
  readonly #listeners = new Set<(message: From | undefined) => void>()

  deliver(message: From): void {
    for (const listener of [...this.#listeners]) listener(message)
  }
  /** The process exited: resolves every waiter with undefined. */
  close(): void {
    for (const listener of [...this.#listeners]) listener(undefined)
  }
  /** Resolves to the first message that `accepts` admits, or to undefined if the process ends
   *  first. */
  next<Wanted extends From>(
    accepts: (message: From) => message is Wanted,
  ): Promise<Wanted | undefined> {
    return new Promise(resolve => {
      const listener = (message: From | undefined): void => {
        const isDone = message === undefined || accepts(message)
        if (!isDone) return
        this.#listeners.delete(listener)
        resolve(message as Wanted | undefined)
      }
      this.#listeners.add(listener)
    })
  }
}

/** A filter for `next` that accepts messages by type. */
export const ofType =
  <Type extends string>(...types: readonly Type[]) =>
  <Message extends { readonly type: string }>(
    message: Message,
  ): message is Extract<Message, { readonly type: Type }> =>
    (types as readonly string[]).includes(message.type)
