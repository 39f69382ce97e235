/** Dialect cache: SQL texts of this process, translated to PostgreSQL once, with the name under
 *  which they are prepared. */
import type { Sql } from '../../plugin.ts'
import { type TranslatedSql, translate } from './dialect.ts'

export type PreparedSql =
  | (TranslatedSql & { readonly name: string | undefined })
  | { readonly problem: string }

// A plugin's SQL may change with each reload. Texts beyond this number are sent in full each time.
const MAX_PREPARED = 2_000

export class DialectCache {
  readonly #entries = new Map<string, PreparedSql>()

  get({ text, postgres = text }: Sql): PreparedSql {
    const entry = this.#entries.get(postgres)
    if (entry) return entry
    const full = this.#entries.size >= MAX_PREPARED
    const newEntry = this.#translate(postgres, full ? undefined : `t${this.#entries.size}`)
    if (!full) this.#entries.set(postgres, newEntry)
    return newEntry
  }
  #translate(text: string, name: string | undefined): PreparedSql {
    try {
      return { ...translate(text), name }
    } catch (error) {
      return { problem: (error as Error).message }
    }
  }
}
