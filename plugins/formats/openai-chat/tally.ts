/** Whether a chat model searched the web: its answer has no count of it, but cites what was found. */
import type { Json } from '../../../engine/plugin.ts'
import { inner, isFields } from '../fields.ts'
import type { HostedFacts, Tally } from '../format.ts'

export const hosted: HostedFacts = { marks: ['url_citation"'], begin: () => begin() }
const begin = (): Tally => {
  let searched = false
  const cites = (choice: Json): boolean => {
    if (!isFields(choice)) return false
    const told = { ...inner(choice, 'message'), ...inner(choice, 'delta') }
    const { annotations } = told
    return Array.isArray(annotations) && annotations.length > 0
  }
  return {
    saw({ choices }) {
      searched ||= Array.isArray(choices) && choices.some(cites)
    },
    get meters() {
      return searched ? { web_search: 1 } : {}
    },
  }
}
