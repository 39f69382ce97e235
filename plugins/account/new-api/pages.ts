/** Pages of new-api's lists: numbered from 1, at most a hundred rows each. */
import { fault } from '../faults.ts'
import { singleParameter } from '../input.ts'

const [USUAL, MOST, MOST_ROWS] = [10, 100, 10_000]
const countIn = (query: URLSearchParams, names: readonly string[], usual: number): number => {
  for (const name of names) {
    const text = singleParameter(query, name)
    if (text === undefined) continue
    if (!/^\d{1,6}$/.test(text)) throw fault('TOKEN_PAGE', [name])
    return Number(text)
  }
  return usual
}
/** Their older clients count pages from 0, and name the size `size`. Throws TOKEN_PAGE. */
export const pageIn = (
  query: URLSearchParams,
): { readonly page: number; readonly size: number } => {
  const page = Math.max(1, countIn(query, ['p'], 1))
  const size = Math.min(MOST, Math.max(1, countIn(query, ['page_size', 'size'], USUAL)))
  if (page * size > MOST_ROWS) throw fault('TOKEN_PAGE', ['p'])
  return { page, size }
}
