/** Finds texts that may have a part of a credential: it looks up six characters at
 *  every few places, whatever the number of credentials. */

/** Characters of a gram, which is looked up as one. */
const GRAM = 6
const SLOTS = 2 ** 15

/** A hash of the gram at this place, below SLOTS. */
const hashAt = (text: string, start: number): number => {
  let hash = 0
  for (let at = start; at < start + GRAM; at++) hash = Math.imul(hash, 31) + text.charCodeAt(at)
  return hash & (SLOTS - 1)
}

export class CredentialParts {
  /** 1 for the hash of each gram: most texts need no look at the set. */
  readonly #hashes = new Uint8Array(SLOTS)
  readonly #grams = new Set<string>()
  readonly #step: number

  /** `shortest`: characters of the shortest part, which has a gram at one of any `#step` places
   *  in a row. */
  constructor(forms: readonly string[], shortest: number) {
    this.#step = Math.max(1, Math.min(shortest, ...forms.map(({ length }) => length)) - GRAM + 1)
    for (const form of forms)
      for (let at = 0; at + GRAM <= form.length; at++) {
        this.#hashes[hashAt(form, at)] = 1
        this.#grams.add(form.slice(at, at + GRAM))
      }
  }
  mayBeIn(text: string): boolean {
    for (let at = 0; at + GRAM <= text.length; at += this.#step)
      if (this.#hashes[hashAt(text, at)] === 1 && this.#grams.has(text.slice(at, at + GRAM)))
        return true
    return false
  }
}
