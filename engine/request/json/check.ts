/** Checks the nesting and the keys of a JSON body in one pass, before it is parsed. */
import { fault, type JsonLimits } from './faults.ts'
import { OpenKeys } from './keys.ts'
import { closingQuote } from './strings.ts'

/** What the bytes outside of strings do; all others, 0, are left to the parser. */
const [STRING, COMMA, COLON, OBJECT, ARRAY, END] = [1, 2, 3, 4, 5, 6]
const KINDS = new Uint8Array(256)
for (const [character, kind] of [
  ['"', STRING],
  [',', COMMA],
  [':', COLON],
  ['{', OBJECT],
  ['[', ARRAY],
  ['}', END],
  [']', END],
] as const)
  KINDS[character.charCodeAt(0)] = kind

/** Skips strings, compares keys within their object, leaves malformed JSON to the parser. `text`:
 *  the bytes as Latin-1, a character for each byte: V8 searches it without a native call. */
export const checkJson = (bytes: Buffer, text: string, limits: JsonLimits): void => {
  const { length } = bytes
  const keys = new OpenKeys(bytes, text, limits)
  /** Whether each enclosing value is an object, and whether the present one is. */
  const outer: boolean[] = []
  let inObject = false
  let wantsKey = false
  for (let at = 0; at < length; at++) {
    const kind = KINDS[bytes[at] as number] as number
    if (kind === 0) continue
    if (kind === STRING) {
      at = wantsKey ? keys.read(at + 1) : closingQuote(bytes, text, at + 1)
      if (at < 0) return
      wantsKey = false
    } else if (kind === COMMA) wantsKey = inObject
    else if (kind === COLON) wantsKey = false
    else if (kind === END) {
      if (inObject) keys.closeObject()
      inObject = outer.pop() ?? false
      wantsKey = false
    } else {
      if (outer.push(inObject) > limits.depth) throw fault('BODY_TOO_DEEP', [limits.depth])
      inObject = kind === OBJECT
      wantsKey = inObject
      if (inObject) keys.openObject()
    }
  }
}
