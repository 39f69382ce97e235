/** The range of a file that a request asks for (RFC 9110 §14). Pure. */

/** `end`: exclusive. */
interface Range {
  readonly start: number
  readonly end: number
}

/** Undefined: the whole file; also for several ranges, which a server may ignore. */
export const rangeIn = (
  { range, 'if-range': ifRange }: Readonly<Record<string, string | undefined>>,
  etag: string,
  size: number,
): Range | 'unsatisfiable' | undefined => {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range?.trim() ?? '') ?? []
  if ((first === '' && last === '') || (ifRange !== undefined && ifRange !== etag)) return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) }
}
