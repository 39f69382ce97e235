/** The way of a prompt from a client's format to a target's and back. */

export const CHAT = 'openai-chat'
export const RESPONSES = 'openai-responses'
export const MESSAGES = 'anthropic-messages'
export const GEMINI = 'google-gemini'
export const FORMATS: readonly string[] = [CHAT, RESPONSES, MESSAGES, GEMINI]

export interface Route {
  readonly from: string
  readonly to: string
  /** Whether targets can all that their format has words for. */
  readonly able: boolean
}
export interface Way extends Route {
  readonly lost: readonly string[]
  /** What the documents were said to be about. */
  readonly about: readonly string[]
}
/** Whether one of these formats is on the way. */
export const by = ({ from, to }: Route, ...formats: readonly string[]): boolean =>
  formats.includes(from) || formats.includes(to)
