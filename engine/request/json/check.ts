/** Checks the nesting and the keys of a JSON body in one pass, before it is parsed. */
import { fault, type JsonLimits } from './faults.ts'
import { OpenKeys } from './keys.ts'
import { closingQuote } from './strings.ts'

/** Classes of bytes outside of strings, in the order of `,":{[}`; `]` as `}`. */
const [COMMA, STRING, COLON, OBJECT, , END] = [1, 2, 3, 4, 5, 6]
const KINDS = new Uint8Array(256)
for (const [at, character] of [...',":{[}]'].entries())
  KINDS[character.charCodeAt(0)] = Math.min(at + 1, END)

/** Each so many bytes, those that do nothing are skipped by a search, which V8 does with vector
 *  instructions. Outside of objects, commas and colons do nothing. */
const [STRIDE, IN_ARRAY, IN_OBJECT] = [128, /["{}[\]]/g, /[",:{}[\]]/g]

/** Skips strings, compares keys within their object, leaves malformed JSON to the parser. `text`:
 *  the bytes as Latin-1, a character for each byte: V8 searches it without a native call. */
export const checkJson = (bytes: Buffer, text: string, limits: JsonLimits): void => {
  const keys = new OpenKeys(bytes, text, limits)
  /** Whether each enclosing value is an object, and whether the present one is. */
  const outer: boolean[] = []
  let inObject = false
  let wantsKey = false
  for (let at = 0; at < text.length; at++) {
    const kind = KINDS[bytes[at] as number] as number
    if (kind <= COMMA) {
      if (kind === COMMA) wantsKey = inObject
      if (at % STRIDE !== 0) continue
      const search = inObject ? IN_OBJECT : IN_ARRAY
      search.lastIndex = at + 1
      if (!search.test(text)) return
      at = (search.lastIndex | 0) - 2
    } else if (kind === STRING) {
      at = wantsKey ? keys.read(at + 1) : closingQuote(bytes, text, at + 1)
      if (at < 0) return
      wantsKey = false
    } else if (kind === COLON) wantsKey = false
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
