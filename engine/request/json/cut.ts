/** The outline of a body as JSON whose cut texts are references: for a stage that writes the texts
 *  of a body into another JSON and reads none of them. Their bytes are copied, never decoded. */
import { asBuffer, type CutText, cutTextOf } from '../../kit.ts'
import type { Bytes, CutBody, Json } from '../../plugin.ts'

/** Members whose texts stay cut. */
const CUT_MEMBERS: ReadonlySet<string> = new Set(['text', 'content', 'description'])
/** Members that a format may write as JSON within a text: nothing in them stays cut. */
const WHOLE_MEMBERS: ReadonlySet<string> = new Set(['input'])
const MARK = 0x7f
const MARK_TEXT = '\u007f'
const LINE_BREAK = Buffer.from('\\n')
const COLON = 0x3a
const ZERO = 0x30

export class TextReferences implements CutBody {
  readonly json: Json
  readonly #body: Buffer
  readonly #spans: Uint32Array
  /** By its number: 1 if the text is whole in the JSON. */
  readonly #whole: Uint8Array

  /** `spans`: of this outline, see `BodyScan`. Makes texts of the outline whole. Undefined if one
   *  of them has the mark of a reference. */
  static of(outline: Json, body: Bytes, spans: Uint32Array): TextReferences | undefined {
    const references = new TextReferences(outline, body, spans)
    return references.#expand(outline, false) ? references : undefined
  }
  private constructor(outline: Json, body: Bytes, spans: Uint32Array) {
    this.json = outline
    this.#body = asBuffer(body)
    this.#spans = spans
    this.#whole = new Uint8Array(spans.length / 2)
  }
  restore(json: string): Bytes | undefined {
    const source = Buffer.from(json)
    const target = Buffer.allocUnsafe(source.length + this.#body.length)
    const isRestored = this.#whole.slice()
    let [copied, size] = [0, 0]
    for (let at = source.indexOf(MARK); at >= 0; at = source.indexOf(MARK, copied)) {
      const index = indexAt(source, at)
      const end = source.indexOf(MARK, at + 1)
      if (isRestored[index] !== 0 || end < 0) return undefined
      isRestored[index] = 1
      size += source.copy(target, size, copied, at)
      size += this.#body.copy(target, size, ...this.#spanOf(index))
      copied = end + 1
    }
    size += source.copy(target, size, copied)
    return isRestored.includes(0) ? undefined : target.subarray(0, size)
  }
  #spanOf(index: number): [start: number, end: number] {
    return [this.#spans[2 * index] ?? 0, this.#spans[2 * index + 1] ?? 0]
  }
  /** Returns false for a text with the mark. `isInWhole`: within a member of WHOLE_MEMBERS. The
   *  limits of bodies bound the depth. */
  #expand(value: Json, isInWhole: boolean): boolean {
    if (typeof value !== 'object' || value === null) return true
    if (Array.isArray(value)) return this.#expandItems(value, isInWhole)
    const members = value as { [key: string]: Json }
    for (const key in members) {
      const member = members[key] as Json
      if (typeof member === 'string') {
        const cut = CUT_MEMBERS.has(key) && !isInWhole ? undefined : cutTextOf(member)
        if (!cut) continue
        const whole = this.#wholeText(cut)
        if (whole.includes(MARK_TEXT)) return false
        members[key] = whole
      } else if (!this.#expand(member, isInWhole || WHOLE_MEMBERS.has(key))) return false
    }
    return true
  }
  /** A loop over names would convert each index into a string, at five times the cost. */
  #expandItems(items: Json[], isInWhole: boolean): boolean {
    for (let at = 0; at < items.length; at++) {
      const item = items[at] as Json
      const cut = typeof item === 'string' ? cutTextOf(item) : undefined
      if (cut) {
        const whole = this.#wholeText(cut)
        if (whole.includes(MARK_TEXT)) return false
        items[at] = whole
      } else if (!this.#expand(item, isInWhole)) return false
    }
    return true
  }
  #wholeText({ start, number }: CutText): string {
    this.#whole[number] = 1
    const rest = this.#body.toString('utf8', ...this.#spanOf(number))
    return start + (JSON.parse(`"${rest}"`) as string)
  }
}
/** The number behind a mark; -1: this is another text, or JSON within a text. */
const indexAt = (bytes: Buffer, mark: number): number => {
  if (bytes[mark + 1] !== LINE_BREAK[0] || bytes[mark + 2] !== LINE_BREAK[1]) return -1
  let index = 0
  for (let at = mark + 3; bytes[at] !== COLON; at++) {
    const digit = (bytes[at] ?? 0) - ZERO
    if (!(digit >= 0 && digit <= 9)) return -1
    index = 10 * index + digit
  }
  return index
}
