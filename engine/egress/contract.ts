/** The part of the plugin contract for what leaves: the last change of a request, and credentials
 *  of upstreams. Types only. */
import type { Bytes, Headers, Target } from '../store/contract.ts'

/** A request to an upstream with everything on it: what is sent is exactly this. */
export interface SignableRequest {
  readonly method: string
  /** The whole URL. Path and query may be changed; another host is ignored. */
  readonly url: URL
  /** May be changed. */
  readonly headers: Headers
  /** Undefined if there is no body, and where it is streamed. */
  readonly body: Bytes | undefined
  readonly isStreamed: boolean
}
/** Adds what depends on the whole request, such as a signature. A fault that it throws ends the
 *  attempt before anything is sent; a retryable one starts the next attempt. */
export type Sign = (request: SignableRequest, target: Target) => void | Promise<void>

/** A way to authenticate at upstreams: `auth: { NAME: options }`, NAME being that of its plugin. */
export interface AuthMethodOf<Host> {
  /** JSON Schema of the options. */
  readonly schema: object
  /** Runs once per upstream and version. The result signs before the stages do. */
  setup(options: unknown, host: AuthHostOf<Host>): Sign | CredentialSigner
}
/** Signs with a credential that can be renewed. */
export interface CredentialSigner {
  readonly sign: Sign
  /** Called after a 401, with the headers that were sent. Returns whether another attempt would
   *  send another credential: one is made, if the request can be sent again. */
  onRefused?(headers: Headers): boolean
  /** Identifies the credential. The name of the key of its calls is a digest of it. */
  readonly key?: string
}
export type AuthHostOf<Host> = Host & {
  /** Key in `upstreams:`. */
  readonly upstream: string
  /** As of the host, through the proxy of the upstream. */
  readonly request: SendToOperator
}
/** One request to an address that the operator configured: no egress rules, no redirects, and a
 *  connection of its own unless `keepAlive` is set. Rejects without a whole response in time. */
export type SendToOperator = (url: string, request: OperatorRequest) => Promise<OperatorResponse>
export interface OperatorRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Bytes
  /** ms until the whole response has arrived. */
  readonly timeout: number
  /** Not through the proxy. */
  readonly direct?: boolean
  /** Takes an idle connection of an earlier request to this origin, and leaves it open for some
   *  seconds: for requests that follow each other and are repeated after a failure, since the
   *  server may close the connection at any time. */
  readonly keepAlive?: boolean
}
export interface OperatorResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly bytes: Bytes
  readonly text: string
}
/** Sends one mail through an SMTP server of the operator, and resolves with the server's last
 *  response. Rejects after `timeout` ms, and with `responseCode` if the server refused. */
export type SendMail = (server: MailServer, mail: Mail, timeout: number) => Promise<string>
export interface MailServer {
  readonly host: string
  readonly port: number
  readonly user?: string | undefined
  readonly password?: string | undefined
  /** `starttls`: no mail is sent without TLS. `implicit`: TLS from the first byte. */
  readonly tls: 'starttls' | 'implicit' | 'off'
  /** PEM of authorities in place of the system's. */
  readonly ca?: string | undefined
}
export interface Mail {
  readonly messageId: string
  readonly from: { readonly name: string; readonly address: string }
  /** One address. */
  readonly to: { readonly name: ''; readonly address: string }
  readonly subject: string
  readonly text: string
  readonly date: Date
  readonly headers: Readonly<Record<string, string>>
}
