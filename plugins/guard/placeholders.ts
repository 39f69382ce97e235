/** Placeholders of one call: `[EMAIL_1]` stands for the first address, wherever it occurs. */
import type { TextFinder } from '../formats/hub/text.ts'

const PLACEHOLDER = /\[[A-Z][A-Z_]*_[0-9]{1,6}\]/g
const LONGEST = 44

export class Placeholders {
  readonly #byText = new Map<string, string>()
  readonly #originals = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  #isFrozen = false

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
  /** The request is complete: placeholders that come later stand for texts of the answer, which
   *  are not restored. */
  freeze(): void {
    this.#isFrozen = true
  }
  knows(text: string): boolean {
    return [...this.#originals.values()].includes(text)
  }
  of(text: string, label: string): string {
    const known = this.#byText.get(text)
    if (known !== undefined) return known
    const count = (this.#counts.get(label) ?? 0) + 1
    this.#counts.set(label, count)
    const placeholder = `[${label}_${count}]`
    this.#byText.set(text, placeholder)
    if (!this.#isFrozen) this.#originals.set(placeholder, text)
    return placeholder
  }
  original(placeholder: string): string {
    return this.#originals.get(placeholder) ?? placeholder
  }
}
