/** Which SQL this process has spoken, turned into PostgreSQL's dialect once, under the name it is prepared by. */
import type { Sql } from '../../plugin.ts'
import { type Spoken, speak } from './dialect.ts'

export type Phrase = (Spoken & { readonly name: string | undefined }) | { readonly wrong: string }

// A plugin's SQL may change with each reload. What comes beyond is sent in full each time.
const PREPARED = 2_000

export class Phrases {
  readonly #known = new Map<string, Phrase>()

  of({ text, postgres = text }: Sql): Phrase {
    const known = this.#known.get(postgres)
    if (known) return known
    const full = this.#known.size >= PREPARED
    const phrase = this.#turn(postgres, full ? undefined : `t${this.#known.size}`)
    if (!full) this.#known.set(postgres, phrase)
    return phrase
  }
  #turn(text: string, name: string | undefined): Phrase {
    try {
      return { ...speak(text), name }
    } catch (error) {
      return { wrong: (error as Error).message }
    }
  }
}
