/** A request and its owner, for tests of the parts of the cache. */
import type { Scope } from '../../../plugins/cache/identity.ts'
import type { Prompt } from '../../../plugins/formats/hub/prompt.ts'

export const PROMPT: Prompt = {
  turns: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  tools: [],
  settings: { temperature: 0 },
  stream: false,
  includeUsage: false,
  body: {},
}
export const SCOPE: Scope = {
  account: 1,
  member: null,
  share: 'member',
  model: 'm',
  place: [],
  target: 't',
  versions: ['1'],
  headers: [],
}
