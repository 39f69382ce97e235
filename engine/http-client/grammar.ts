/** The words both heads are made of (RFC 9110 §5.1, §5.6.2). Pure. */
import { remembered } from '../response/headers.ts'

const WORD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** A length that a number holds exactly. */
const DIGITS = /^\d{1,15}$/

export const isWord = (text: string): boolean => WORD.test(text)
export const isLength = (text: string): boolean => DIGITS.test(text)
/** A header's name in lower case; empty where it is none. */
export const nameOf = remembered(name => (isWord(name) ? name.toLowerCase() : ''))
