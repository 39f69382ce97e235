/** Checks base64 that clients send for media. Line breaks, the URL alphabet and missing padding
 *  pass, as providers take them. */

/** Characters that are decoded at once; a multiple of 4. */
const PIECE = 65_536
const LENIENT = /^[\w+/\r\n-]*={0,2}[\r\n]*$/
const DATA_URL = /^data:[^,]{0,256};base64,/i

/** The decoder skips what is not base64, so that fewer bytes come out; it takes 0.07 ms a megabyte,
 *  a pattern seven times as long. */
export const isBase64 = (text: string): boolean => {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const length = text.length - padding
  return (length > 1 && length % 4 !== 1 && isPlain(text, length)) || isLenient(text)
}
const isPlain = (text: string, length: number): boolean => {
  const bytes = Buffer.allocUnsafe(Math.min(PIECE, length))
  for (let from = 0; from < length; from += PIECE) {
    const piece = text.slice(from, Math.min(from + PIECE, length))
    if (bytes.write(piece, 'base64') !== Math.floor((piece.length * 3) / 4)) return false
  }
  return true
}
const isLenient = (text: string): boolean => {
  const length = LENIENT.test(text) ? text.replace(/[\r\n=]+/g, '').length : 0
  return length > 1 && length % 4 !== 1
}

/** Whether a text is a data URL of base64 whose data is none. Other texts are not judged. */
export const isBrokenDataUrl = (text: string): boolean => {
  const [start = ''] = DATA_URL.exec(text) ?? []
  return start !== '' && !isBase64(text.slice(start.length))
}
