/** Placeholders of one call: `[EMAIL_1]` stands for the first address, wherever it occurs. */
import type { TextFinder } from '../formats/hub/text.ts'

const PLACEHOLDER = /\[[A-Z][A-Z_]*_[0-9]{1,6}\]/g
const LONGEST = 44

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

export class Placeholders {
  readonly #byText = new Map<string, string>()
  readonly #originals = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  readonly #reserved: Set<string>
  #isFrozen = false
  /** `reserved`: those of all guards of the call. */
  constructor(reserved: Set<string>) {
    this.#reserved = reserved
  }

  /** Finds the placeholders of the request in an answer. */
  readonly finder: TextFinder = {
    find: text =>
      [...text.matchAll(PLACEHOLDER)]
        .filter(each => this.#originals.has(each[0]))
        .map(each => ({ start: each.index, end: each.index + each[0].length })),
    openFrom: text => {
      const start = text.lastIndexOf('[')
      const isOpen = start >= 0 && text.length - start < LONGEST && !text.includes(']', start)
      return isOpen ? start : text.length
    },
  }
  /** While the request is complete, new placeholders stand for texts of the answer, which are not
   *  restored. */
  freeze(isFrozen = true): void {
    this.#isFrozen = isFrozen
  }
  /** A placeholder in these texts is the client's own and is not replaced. */
  reserve(texts: Iterable<string>): void {
    for (const text of texts)
      for (const each of text.match(PLACEHOLDER) ?? []) this.#reserved.add(each)
  }
  knows(text: string): boolean {
    const placeholder = this.#byText.get(text)
    return placeholder !== undefined && this.#originals.has(placeholder)
  }
  of(text: string, label: string): string {
    const known = this.#byText.get(text)
    if (known !== undefined) return known
    let count = this.#counts.get(label) ?? 0
    let placeholder: string
    do placeholder = `[${label}_${++count}]`
    while (this.#reserved.has(placeholder))
    this.#counts.set(label, count)
    this.#reserved.add(placeholder)
    this.#byText.set(text, placeholder)
    if (!this.#isFrozen) this.#originals.set(placeholder, text)
    return placeholder
  }
  /** Puts the placeholders back in JSON text with originals, also in texts that are JSON. */
  hide(json: string): string {
    let result = json
    for (const [placeholder, text] of this.#originals)
      for (const form of [escaped(escaped(text)), escaped(text)])
        result = result.replaceAll(form, placeholder)
    return result
  }
  original(placeholder: string): string {
    return this.#originals.get(placeholder) ?? placeholder
  }
}
