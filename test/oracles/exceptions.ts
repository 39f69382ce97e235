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
    cells: /-> (?:openai-\w+|anthropic-messages|google-gemini)\//,
    rule: 'tool-schemas',
    message: /root/,
    reason: 'a schema whose root is no plain object is sent as it is',
  },
  {
    cells: /-> bedrock-converse\//,
    rule: 'tools',
    message: /root/,
    reason: 'the same, at Converse',
  },
  {
    cells: /-> anthropic-messages\//,
    rule: 'types',
    message: /input_schema/,
    reason: 'the same, by the types',
  },
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
    cells: /-> openai-\w+\/gpt/,
    rule: 'json-word',
    reason: 'the word JSON stands in no message, or in the system prompt only',
  },
  {
    cells: /-> google-gemini\/gemini-2/,
    rule: 'combinations',
    reason: 'JSON beside functions before Gemini 3',
  },
  {
    cells: /-> anthropic-messages\/claude-(?:4-5|opus-4-5)/,
    rule: 'thinking',
    message: /the last calls have none/,
    reason: 'thinking with a history of calls without thoughts',
  },
  {
    cells: /-> anthropic-messages\/claude-5/,
    rule: 'system-turns',
    reason: 'a system turn at a place where Anthropic refuses it',
  },
]
