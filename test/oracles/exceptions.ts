/** What providers refuse so far, by cell, with the reason. The long walk fails for an exception
 *  that no longer occurs. */

export interface Exception {
  /** Of `client -> format/family`. */
  readonly cells: RegExp
  readonly rule: string
  readonly message?: RegExp
  readonly reason: string
}
export const EXCEPTIONS: readonly Exception[] = [
  {
    cells: /-> openai-chat\/mistral/,
    rule: 'mistral',
    reason: 'ids of calls and the order of turns are not those that Mistral demands',
  },
  {
    cells: /-> openai-chat\/deepseek/,
    rule: 'reasoning-back',
    reason: 'thoughts of the history are not sent back; a history without thoughts has none',
  },
  {
    cells: /-> anthropic-messages\/claude-5/,
    rule: 'system-turns',
    reason: 'a system turn at a place where Anthropic refuses it',
  },
  {
    cells: /openai-(?:chat -> openai-responses|responses -> openai-chat)\//,
    rule: 'types',
    message: /required property '(?:grammar|definition)'/,
    reason: 'the grammar of a free tool keeps the shape of the other format',
  },
  {
    cells: /openai-responses -> openai-chat\//,
    rule: 'order',
    reason: 'a turn between a call and its result stays there',
  },
  {
    cells: /openai-\w+ -> anthropic-messages\/claude-5/,
    rule: 'pairs',
    reason: 'a system turn between a call and its result stays there',
  },
]
