/** Names and lengths that request and response heads share (RFC 9110 §5.1, §5.6.2). Pure. */
import { memoizeByName } from '../response/headers.ts'

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** A length that is exact as a number. */
const DIGITS = /^\d{1,15}$/

export const isName = (text: string): boolean => NAME.test(text)
export const isLength = (text: string): boolean => DIGITS.test(text)
/** A header's name in lower case; empty if it is not a name. */
export const nameOf = memoizeByName(name => (isName(name) ? name.toLowerCase() : ''))
