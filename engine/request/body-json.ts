/** The JSON of a request's body: it is checked once, and parsed in full or as an outline when a
 *  stage reads it. Most stages read its structure only, and most of an agent's bytes are texts. */
import type { Bytes, CutBody, Json } from '../plugin.ts'
import { TextReferences } from './json/cut.ts'
import { LastTurns, type Turn } from './json/repeated.ts'
import { type ParsedBody, parseChecked, parseJson, parseOutline, parseRepeated } from './json.ts'

/** Whether outlines suffice for the requests of one route. Where they do not, as for requests
 *  whose texts are read, an outline would be work beside the whole parse. */
export class OutlineUse {
  static #count = 0
  readonly id = OutlineUse.#count++
  /** Twice the share of outlines that did not suffice, of about the last eight. */
  #failed = 0
  #skipped = 0
  /** True again for one request of RETRY, since requests of a route differ. */
  shouldTry(): boolean {
    if (this.#failed < MOST_FAILED) return true
    this.#skipped = (this.#skipped + 1) % RETRY
    return this.#skipped === 0
  }
  begin(): void {
    this.#failed *= 7 / 8
  }
  fail(): void {
    this.#failed = Math.min(2, this.#failed + 1 / 4)
  }
}
/** Measured at 220 KB: check and outline cost 0.65 of a whole parse. */
const MOST_FAILED = 1.1
const RETRY = 16

/** Those of the last requests: up to 16 MiB, for ten minutes. */
const lastTurns = new LastTurns(16 * 2 ** 20, 600_000)

interface Outline {
  readonly json: Json
  /** Undefined: it has parts of an earlier one. */
  readonly spans: Uint32Array | undefined
  /** Until it is cut. */
  turn: Turn | undefined
  cut: CutBody | undefined
}
export class BodyJson {
  readonly #body: { readonly whole: Bytes | undefined }
  readonly #use: OutlineUse | undefined
  #whole: Json | undefined
  #outline: Outline | undefined
  #origin: 'unread' | 'bytes' | 'set' = 'unread'
  /** See `LastTurns`. */
  #caller: string | undefined

  /** `body`: its bytes, which are there before anything is read. */
  constructor(body: { readonly whole: Bytes | undefined }, use?: OutlineUse) {
    this.#body = body
    this.#use = use
  }
  /** See `Request.setCaller`. */
  setCaller(name: string): void {
    if (this.#use) this.#caller = `${this.#use.id} ${name}`
  }
  get isRead(): boolean {
    return this.#origin !== 'unread'
  }
  get hasWhole(): boolean {
    return this.#whole !== undefined
  }
  whole(): Json {
    if (this.#whole === undefined)
      this.#whole = this.isRead ? parseChecked(this.#bytes) : parseJson(this.#bytes)
    this.#begin()
    if (this.#outline) this.#use?.fail()
    this.#outline = undefined
    return this.#whole
  }
  /** All of it where it was parsed in full before. */
  outline(): Json {
    if (this.#whole !== undefined) return this.#whole
    if (this.#outline) return this.#outline.json
    const tries = this.#use?.shouldTry() ?? true
    const { json, spans, turn } = tries
      ? this.#parse()
      : { json: parseJson(this.#bytes), spans: undefined }
    if (turn) {
      this.#use?.begin()
      this.#outline = { json, spans, turn, cut: undefined }
    } else this.#whole = json
    this.#begin()
    return json
  }
  /** The outline with its cut texts as references; undefined unless only an outline was parsed. */
  cut(): CutBody | undefined {
    const outline = this.#outline
    if (!outline) return undefined
    const { turn } = outline
    if (turn) {
      // Some of its texts become whole, or their numbers are those of several bodies.
      if (this.#caller !== undefined) lastTurns.remove(this.#caller, turn)
      const { json, spans } = outline.spans ? outline : parseOutline(this.#bytes)
      if (spans) outline.cut = TextReferences.of(json, this.#bytes, spans)
    }
    outline.turn = undefined
    return outline.cut
  }
  /** Sets the JSON of a body that is none, or of a changed one. */
  set(value: Json): void {
    this.#whole = value
    this.#outline = undefined
    this.#origin = 'set'
  }
  /** Drops the value that was parsed from bytes; it is parsed again if it is needed. */
  release(): void {
    if (this.#origin !== 'bytes') return
    this.#whole = undefined
    this.#outline = undefined
  }
  #parse(): ParsedBody {
    const caller = this.#caller
    if (caller === undefined) return parseOutline(this.#bytes)
    for (const before of lastTurns.of(caller)) {
      const turn = parseRepeated(before, this.#bytes)
      if (!turn) continue
      lastTurns.add(caller, turn, before)
      return { json: turn.json, spans: undefined, turn }
    }
    const parsed = parseOutline(this.#bytes)
    if (parsed.turn) lastTurns.add(caller, parsed.turn, undefined)
    return parsed
  }
  #begin(): void {
    if (this.#origin === 'unread') this.#origin = 'bytes'
  }
  get #bytes(): Bytes {
    return this.#body.whole ?? Buffer.alloc(0)
  }
}
