/** Filters of the request log. Pure. */
import type { RequestFilter, RequestRecord } from './contract.ts'

/** Whether a record passes. */
export type Passes = (record: RequestRecord) => boolean

export const compileFilter = (filter: RequestFilter): Passes => {
  const { fields = {}, except = {}, status, since, until } = filter
  const pairs = Object.entries(fields)
  const exceptions = Object.entries(except)
  const statusClass = status === undefined ? undefined : /^([1-5])xx$/.exec(status)?.[1]
  return record => {
    if (since !== undefined && record.time < since) return false
    if (until !== undefined && record.time >= until) return false
    if (status !== undefined) {
      const text = String(record.status)
      if (statusClass === undefined ? text !== status : text[0] !== statusClass) return false
    }
    const has = ([name, values]: readonly [string, readonly string[]]): boolean => {
      const value = record[name]
      return value !== undefined && values.includes(String(value))
    }
    return pairs.every(has) && !exceptions.some(has)
  }
}

/** Texts of which one must occur in the line of a record that passes, to skip most lines without
 *  parsing them. Undefined: any line may pass. */
export const requiredTexts = ({ fields = {} }: RequestFilter): readonly string[] | undefined => {
  const [first] = Object.entries(fields)
  if (!first) return undefined
  const [name, values] = first
  return values.flatMap(value => [
    `"${name}":${JSON.stringify(value)}`,
    ...(/^\d+$/.test(value) ? [`"${name}":${value}`] : []),
  ])
}

/** The record of a line; undefined for a line that a crash has cut off. */
export const parseLine = (line: string): RequestRecord | undefined => {
  try {
    const record = JSON.parse(line) as RequestRecord
    return typeof record?.time === 'number' ? record : undefined
  } catch {
    return undefined
  }
}
