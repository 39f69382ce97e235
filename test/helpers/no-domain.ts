/** Replaces `async-hook-domain`, with which `tap` assigns uncaught errors to tests: it follows
 *  every promise, which costs a tenth of a test's CPU. Without it such an error ends the
 *  process. */

type OnError = (error: unknown, type: string) => void

export class Domain {
  readonly onerror: OnError
  constructor(onerror: OnError) {
    this.onerror = onerror
  }
  destroy(): void {}
}
