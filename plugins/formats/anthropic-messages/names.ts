/** Converts tool names to the limits of this format. */
import { fitted, NARROW, original } from '../call-id.ts'
import type { Call } from '../content.ts'

const LEGAL = /^[A-Za-z0-9_-]{1,128}$/

export const fittedName = (name: string): string => (LEGAL.test(name) ? name : fitted(name, NARROW))

export const originalName = original

/** A tool with free text input becomes a function with one argument; the prefix tells the
 *  decoder. */
const FREE = 'tollgate_text_'
export const freeName = (name: string): string => FREE + fittedName(name)
export const calledName = ({ name, free }: Pick<Call, 'name' | 'free'>): string =>
  free ? freeName(name) : fittedName(name)
/** Undefined for the name of a function. */
export const freeOf = (name: string): string | undefined =>
  name.startsWith(FREE) ? originalName(name.slice(FREE.length)) : undefined
