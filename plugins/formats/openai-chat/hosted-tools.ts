/** Detects web searches of a chat model: the answer has no count of them, but cites the results. */
import type { Json } from '../../../engine/plugin.ts'
import { isFields, lenientObject } from '../fields.ts'
import type { HostedUsage, HostedUsageFacts } from '../format.ts'

export const hostedUsage: HostedUsageFacts = {
  marks: ['url_citation"'],
  begin: () => startCounting(),
}
const startCounting = (): HostedUsage => {
  let hasSearched = false
  const cites = (choice: Json): boolean => {
    if (!isFields(choice)) return false
    const members = { ...lenientObject(choice, 'message'), ...lenientObject(choice, 'delta') }
    const { annotations } = members
    return Array.isArray(annotations) && annotations.length > 0
  }
  return {
    isConcluded: true,
    observe({ choices }) {
      hasSearched ||= Array.isArray(choices) && choices.some(cites)
    },
    get meters() {
      return hasSearched ? { web_search: 1 } : {}
    },
  }
}
