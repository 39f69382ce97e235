/** The first part of an answer of Google, which its formats name differently. */
import type { Part } from '../hub/answer.ts'

/** `created`: a time as ISO 8601. */
export const beginPart = ({
  id,
  model,
  created: time = '',
  tier,
}: Readonly<Partial<Record<'id' | 'model' | 'created' | 'tier', string | undefined>>>): Part => {
  const created = Math.floor(Date.parse(time) / 1_000)
  return {
    type: 'begin',
    ...(id !== undefined && { id }),
    ...(model !== undefined && { model }),
    ...(Number.isFinite(created) && { created }),
    ...(tier !== undefined && { tier: tier === 'standard' ? 'default' : tier }),
  }
}
