/** Long reads in pages: the next page starts after the first column of the last row. */
import type { Database, Row, Sql, Value } from '../plugin.ts'

/** The last two parameters are the key to start after and the size. */
export async function* pagesOf(
  read: Database['read'],
  sql: Sql,
  values: readonly Value[],
  size: number,
): AsyncGenerator<readonly Row[]> {
  const firstValues = values.slice(0, -1)
  let lastKey = values.at(-1) ?? null
  for (;;) {
    const rows = await read(sql, [...firstValues, lastKey, size])
    const last = rows.at(-1)
    if (last) yield rows
    if (!last || rows.length < size) return
    lastKey = Object.values(last)[0] ?? null
  }
}
