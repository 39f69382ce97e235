/** Detects web searches of a chat model: the answer has no count of them, but cites the results. */
import type { Json } from '../../../engine/plugin.ts'
import { inner, isFields } from '../fields.ts'
import type { HostedFacts, Tally } from '../format.ts'

export const hosted: HostedFacts = { marks: ['url_citation"'], begin: () => startCount() }
const startCount = (): Tally => {
  let hasSearched = false
  const cites = (choice: Json): boolean => {
    if (!isFields(choice)) return false
    const members = { ...inner(choice, 'message'), ...inner(choice, 'delta') }
    const { annotations } = members
    return Array.isArray(annotations) && annotations.length > 0
  }
  return {
    saw({ choices }) {
      hasSearched ||= Array.isArray(choices) && choices.some(cites)
    },
    get meters() {
      return hasSearched ? { web_search: 1 } : {}
    },
  }
}
