/** Converts tool names to the limits of this format. */
import { fitted, NARROW, original } from '../call-id.ts'
import type { Call } from '../content.ts'

const VALID_NAME = /^[A-Za-z0-9_-]{1,128}$/

export const fittedName = (name: string): string =>
  VALID_NAME.test(name) ? name : fitted(name, NARROW)

export const originalName = original

/** A tool with free text input becomes a function with one argument; the prefix tells the
 *  decoder. */
const FREE_PREFIX = 'tollgate_text_'
export const freeName = (name: string): string => FREE_PREFIX + fittedName(name)
export const calledName = ({ name, isFreeText }: Pick<Call, 'name' | 'isFreeText'>): string =>
  isFreeText ? freeName(name) : fittedName(name)
/** Undefined for the name of a function. */
export const freeOf = (name: string): string | undefined =>
  name.startsWith(FREE_PREFIX) ? originalName(name.slice(FREE_PREFIX.length)) : undefined
