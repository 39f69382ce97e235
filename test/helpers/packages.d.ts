/** The members of smtp-server that are used. */
declare module 'smtp-server' {
  type Done = (error: Error | null, more?: object) => void
  interface Session {
    readonly user: string | undefined
    readonly secure: boolean
    readonly envelope: {
      readonly mailFrom: { readonly address: string }
      readonly rcptTo: readonly { readonly address: string }[]
    }
  }
  export class SMTPServer {
    constructor(
      options: Readonly<Record<string, unknown>> & {
        onAuth(login: { username: string; password: string }, session: Session, done: Done): void
        onRcptTo(address: object, session: Session, done: Done): void
        onData(stream: AsyncIterable<Buffer>, session: Session, done: Done): void
      },
    )
    readonly server: { address(): { readonly port: number } }
    on(event: 'error', listener: () => void): void
    listen(port: number, host: string, done: () => void): void
    close(done: () => void): void
  }
}

/** The members of oidc-provider that are used. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>)
    callback(): RequestListener
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
      options: object,
    ): Promise<void>
  }
}
