/** Reads Google's calls without our codec, whole or value by value: `{name, willContinue}`, then
 *  `{partialArgs}`…, then `{}`, which may be missing. */
import { asList, asObject, asString, type LooseObject } from './loose.ts'

/** Adds one part to the calls so far. A string that continues repeats its path. */
export const addCall = (calls: [string, unknown][], part: LooseObject): void => {
  const call = asObject(part.functionCall)
  if (call.name) calls.push([asString(call.name), structuredClone(asObject(call.args))])
  for (const { jsonPath, ...value } of asList(call.partialArgs)) {
    const steps = asString(jsonPath).match(/[^.[\]$]+/g) ?? []
    put(calls.at(-1)?.[1], steps, value)
  }
}
const put = (root: unknown, steps: readonly string[], value: LooseObject): void => {
  let node = root as Record<string, unknown>
  steps.slice(0, -1).forEach((step, index) => {
    node[step] ??= /^\d+$/.test(steps[index + 1] ?? '') ? [] : {}
    node = node[step] as Record<string, unknown>
  })
  const last = steps.at(-1) ?? ''
  const { stringValue: text, numberValue = null, boolValue = numberValue } = value
  node[last] = typeof text === 'string' ? asString(node[last]) + text : boolValue
}
