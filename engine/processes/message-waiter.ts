/** Waits for what another process says: the next message of a kind, or its end. */

export class Hearing<From> {
  readonly #listeners = new Set<(message: From | undefined) => void>()

  said(message: From): void {
    for (const listener of [...this.#listeners]) listener(message)
  }
  /** It will say nothing more. */
  ended(): void {
    for (const listener of [...this.#listeners]) listener(undefined)
  }
  /** Resolves with the first message that `wanted` accepts, or with undefined when the process ends first. */
  next<Wanted extends From>(
    wanted: (message: From) => message is Wanted,
  ): Promise<Wanted | undefined> {
    return new Promise(resolve => {
      const listener = (message: From | undefined): void => {
        const heard = message === undefined || wanted(message)
        if (!heard) return
        this.#listeners.delete(listener)
        resolve(message as Wanted | undefined)
      }
      this.#listeners.add(listener)
    })
  }
}

/** Picks messages by their type. */
export const ofType =
  <Type extends string>(...types: readonly Type[]) =>
  <Message extends { readonly type: string }>(
    message: Message,
  ): message is Extract<Message, { readonly type: Type }> =>
    (types as readonly string[]).includes(message.type)
