/** Dialect cache: SQL texts of this process, translated to PostgreSQL once, with the name under
 *  which they are prepared. */
import type { Sql } from '../../plugin.ts'
import { type TranslatedSql, translate } from './dialect.ts'

export type PreparedSql =
  | (TranslatedSql & { readonly name: string | undefined })
  | { readonly wrong: string }

// A plugin's SQL may change with each reload. Texts beyond this number are sent in full each time.
const MAX_PREPARED = 2_000

export class DialectCache {
  readonly #known = new Map<string, PreparedSql>()

  get({ text, postgres = text }: Sql): PreparedSql {
    const known = this.#known.get(postgres)
    if (known) return known
    const full = this.#known.size >= MAX_PREPARED
    const translated = this.#translate(postgres, full ? undefined : `t${this.#known.size}`)
    if (!full) this.#known.set(postgres, translated)
    return translated
  }
  #translate(text: string, name: string | undefined): PreparedSql {
    try {
      return { ...translate(text), name }
    } catch (error) {
      return { wrong: (error as Error).message }
    }
  }
}
