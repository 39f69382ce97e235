/** Parses JSON bodies after one checking pass, so that no shape of input exhausts the process: in
 *  full, or as an outline in which long texts are cut. */
import { isAscii, isUtf8 } from 'node:buffer'
import { asBuffer, markOutline } from '../kit.ts'
import type { Bytes, Json } from '../plugin.ts'
import { checkJson } from './json/check.ts'
import { fault, type JsonLimits, LIMITS, parseText } from './json/faults.ts'
import { type ParseElements, repeatTurn, type Turn } from './json/repeated.ts'
import { BodyScan } from './json/scan.ts'

export const parseJson = (bytes: Bytes, limits = LIMITS): Json => {
  const body = readBytes(bytes)
  if (!scan().accepts(body.buffer, limits)) return parseExactly(body, limits)
  try {
    return JSON.parse(textOf(body)) as Json
  } catch {
    return parseExactly(body, limits)
  }
}
const parseExactly = (body: Body, limits: JsonLimits): Json => {
  checkJson(body.buffer, body.buffer.toString('latin1'), limits)
  return parseText(textOf(body)) as Json
}

/** A body as JSON, or its outline. */
export interface ParsedBody {
  readonly json: Json
  /** Of an outline, see `BodyScan`. Undefined: the JSON is whole. */
  readonly spans: Uint32Array | undefined
  /** Of an outline. */
  readonly turn?: Turn
}
/** Checks a body as `parseJson` does, and parses its outline where that is less work: see
 *  `Request.outline`. */
export const parseOutline = (bytes: Bytes, limits = LIMITS): ParsedBody => {
  if (bytes.length < OUTLINED) return { json: parseJson(bytes, limits), spans: undefined }
  const body = readBytes(bytes)
  if (!scan().accepts(body.buffer, limits, true))
    return { json: parseExactly(body, limits), spans: undefined }
  const outline = scan().outline(body.isAscii)
  try {
    if (outline === undefined) return { json: JSON.parse(textOf(body)) as Json, spans: undefined }
    const json = markOutline(JSON.parse(outline) as Json)
    const size = Math.round(body.buffer.length + PARSED * outline.length)
    return {
      json,
      spans: scan().spans(),
      turn: { body: body.buffer, json, ...scan().ends(), size },
    }
  } catch {
    return { json: parseExactly(body, limits), spans: undefined }
  }
}
/** Bytes of memory of a parsed outline for each character: measured for texts beyond Latin, which
 *  take two bytes a character. */
const PARSED = 2.6
/** The outline of a body that repeats this one; undefined: parse it whole. */
export const parseRepeated = (turn: Turn, bytes: Bytes): Turn | undefined =>
  bytes.length < OUTLINED ? undefined : repeatTurn(turn, asBuffer(bytes), parseElements)
const parseElements: ParseElements = bytes => {
  try {
    const { buffer, isAscii } = readBytes(bytes)
    const outline = scan().accepts(buffer, LIMITS, true) ? scan().outline(isAscii) : undefined
    return outline === undefined
      ? undefined
      : { json: JSON.parse(outline) as Json, ...scan().ends() }
  } catch {
    return undefined
  }
}
/** Bytes from which an outline pays: measured, both cost the same at 2 KB. */
const OUTLINED = 4_096
/** Parses a body that was checked before. */
export const parseChecked = (bytes: Bytes): Json => parseText(textOf(readBytes(bytes))) as Json

/** Started with the first body. Its memory is that of one body, which is not kept. */
const scan = ((): (() => BodyScan) => {
  let started: BodyScan | undefined
  return () => {
    started ??= new BodyScan()
    return started
  }
})()

interface Body {
  readonly buffer: Buffer
  readonly isAscii: boolean
}
const readBytes = (bytes: Bytes): Body => {
  if (bytes.length === 0) throw fault('BODY_EMPTY')
  const hasOnlyAscii = isAscii(bytes)
  if (!hasOnlyAscii && !isUtf8(bytes)) throw fault('BODY_NOT_UTF8')
  return { buffer: asBuffer(bytes), isAscii: hasOnlyAscii }
}
const textOf = ({ buffer, isAscii }: Body): string => buffer.toString(isAscii ? 'latin1' : 'utf8')
