/** The formats of a round trip: a client's, a target's, and back. */

export const CHAT = 'openai-chat'
export const RESPONSES = 'openai-responses'
export const MESSAGES = 'anthropic-messages'
export const GEMINI = 'google-gemini'
export const FORMATS: readonly string[] = [CHAT, RESPONSES, MESSAGES, GEMINI]

export interface Route {
  readonly from: string
  readonly to: string
  /** Whether the target models support everything that their format can express. */
  readonly isCapable: boolean
}
export interface RouteResult extends Route {
  readonly dropped: readonly string[]
  /** The descriptions of documents. */
  readonly descriptions: readonly string[]
}
/** Whether one of these formats takes part. */
export const involves = ({ from, to }: Route, ...formats: readonly string[]): boolean =>
  formats.includes(from) || formats.includes(to)
