/** Expands `preset: NAME` of upstreams: keys of the section `presets:` are added to the upstream's
 *  own, which win, and placeholders such as `{region}` are filled. */
import { isFields } from '../../kit.ts'
import type { Document, Json } from '../../plugin.ts'
import { nearest } from '../nearest.ts'
import { defineProblems, type Problem } from '../problem.ts'
import type { Path, SourceNode } from '../yaml/source-positions.ts'

const problem = defineProblems({
  UNKNOWN_PRESET: 'no preset is named %j; %s',
  PRESET_NEEDS: 'the preset %j needs the key %j in %s: %s',
})

type Fields = { readonly [key: string]: Json }
/** Keys of a preset that are not keys of an upstream. */
const PRESET_ONLY = ['needs']
/** Keys whose maps are not merged: a member of another kind would be left over. */
const WHOLE = ['auth']
const INSIDE = /^[a-z][a-z0-9-]*:$/

interface Readable {
  readonly document: Document
  readonly problems: readonly Problem[]
  find(where: Path): Pick<SourceNode, 'place'>
}

export const expandPresets = <T extends Readable>(reading: T): T => {
  const upstreams = fieldsIn(reading.document.upstreams)
  if (!Object.values(upstreams).some(each => fieldsIn(each).preset !== undefined)) return reading
  const presets = fieldsIn(reading.document.presets)
  const problems: Problem[] = []
  const expand = (name: string, options: Json): Json => {
    if (!isFields(options) || typeof options.preset !== 'string') return options
    const where = ['upstreams', name, 'preset']
    const report = (code: Parameters<typeof problem>[0], args: readonly unknown[], hint?: string) =>
      problems.push(problem(code, reading.find(where).place('value'), args, hint))
    const preset = lookUp(presets, options.preset)
    if (!preset) {
      const names = Object.keys(presets)
      const wayOut = names.length > 0 ? `there are ${names.join(', ')}` : NO_PRESETS
      report('UNKNOWN_PRESET', [options.preset, wayOut], nearest(options.preset, names))
      // Without an address the upstream would be reported a second time.
      return { url: UNKNOWN_URL, ...options }
    }
    const merged = merge(preset, options)
    return fill(merged, fieldsIn(preset.needs), (key, description) =>
      report('PRESET_NEEDS', [options.preset, key, `upstreams.${name}`, description]),
    )
  }
  const expanded = Object.fromEntries(
    Object.entries(upstreams).map(([name, options]) => [name, expand(name, options)]),
  )
  return {
    ...reading,
    document: { ...reading.document, upstreams: expanded } as Document,
    problems: [...reading.problems, ...problems],
  }
}

const UNKNOWN_URL = 'http://unknown.invalid'
const NO_PRESETS = 'there is no section "presets:"; add tollgate:presets.yaml to `include:`'

const fieldsIn = (value: Json | undefined): Fields => (isFields(value) ? value : {})
const lookUp = (presets: Fields, name: string): Fields | undefined =>
  Object.hasOwn(presets, name) ? fieldsIn(presets[name]) : undefined

const merge = (preset: Fields, own: Fields): Fields => {
  const base = Object.fromEntries(
    Object.entries(preset).filter(([key]) => !PRESET_ONLY.includes(key)),
  )
  const merged: { [key: string]: Json } = { ...base }
  for (const [key, value] of Object.entries(own)) {
    if (key === 'url' && value === '') continue
    merged[key] = WHOLE.includes(key) ? value : mergeValue(base[key], value)
  }
  if (isInside(own.url) && own.provider === undefined && base.url !== undefined)
    merged.provider = base.url
  // A server that needs no key may still be given one.
  if (base.auth === 'none' && own.auth === undefined && hasKey(own)) delete merged.auth
  return merged
}

/** Maps are merged; other values are replaced. */
const mergeValue = (base: Json | undefined, own: Json): Json => {
  if (!isFields(base) || !isFields(own)) return own
  const keys = Object.entries(own).map(([key, value]) => [key, mergeValue(base[key], value)])
  return { ...base, ...Object.fromEntries(keys) }
}

const isInside = (url: Json | undefined): boolean => typeof url === 'string' && INSIDE.test(url)
/** Before the schema is checked, `key` may be anything. */
const hasKey = ({ key }: Fields): boolean =>
  [key].flat().some(each => {
    const text = isFields(each) ? each.key : each
    return typeof text === 'string' && text !== ''
  })

/** Fills the placeholders `{NAME}` of `needs` in every text from the key of that name. */
const fill = (
  options: Fields,
  needs: Fields,
  onMissing: (key: string, description: Json) => void,
): Fields => {
  const missing = new Set<string>()
  const fillText = (text: string): string =>
    text.replace(/\{(\w+)\}/g, (placeholder, key: string) => {
      if (!Object.hasOwn(needs, key)) return placeholder
      const value = options[key]
      if (value === undefined || value === null || value === '') missing.add(key)
      return String(value)
    })
  const fillIn = (value: Json): Json => {
    if (typeof value === 'string') return fillText(value)
    if (Array.isArray(value)) return value.map(fillIn)
    if (!isFields(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillIn(each)]))
  }
  const filled = Object.fromEntries(
    Object.entries(options).map(([key, value]) => [key, key === 'key' ? value : fillIn(value)]),
  )
  for (const key of missing) onMissing(key, needs[key] ?? '')
  return filled
}
