/** The filters of the list of /ent/v2: `states`, `task_ids`, `templates`, `model_versions` and
 *  `resolutions`, each repeated or with commas. Pure. */
import { errors } from '../../../engine/errors.ts'
import type { State } from '../task.ts'
import type { Filters } from './dialect.ts'

const fault = errors({
  LIST_FILTER: [400, 'invalid field: %s: %s', { as: { vidu: { type: 'FieldInvalid' } } }],
})
/** Each state as clients see it. */
export const STATES: Readonly<Record<State, string>> = {
  accepted: 'created',
  submitting: 'created',
  submitted: 'queueing',
  running: 'processing',
  unknown: 'processing',
  succeeded: 'success',
  failed: 'failed',
}
/** `type` by the last part of the path, if they differ. */
export const TYPES: Readonly<Record<string, string>> = {
  'start-end2video': 'headtailimg2video',
  reference2video: 'character2video',
}
const ENDPOINTS = [
  'text2video',
  'img2video',
  'start-end2video',
  'reference2video',
  'reference2image',
  'text2audio',
  'audio-tts',
  'timing2audio',
  'extend',
  'multiframe',
  'lip-sync',
  'upscale-new',
  'template',
  'template-story',
  'trending-replicate',
] as const
const FOLDER = '/ent/v2/'
/** Values of one filter. */
const MOST = 100
const ID = /^\d{1,20}$/
const MODEL = /^[\w.:/-]{1,100}$/
const RESOLUTION = /^(?:\d{3,4}p|\d{1,2}k|\d{2,5}[x*]\d{2,5})$/i
const PAGE_NAMES = [
  'created_at.from',
  'created_at.to',
  'pager.pagesz',
  'pager.page',
  'pager.page_token',
]
/** The API key may be in the address. */
const KEY = 'key'

/** Undefined if there is no filter. Throws a fault that names the field. */
export const viduFilters = (search: URLSearchParams): Filters | undefined => {
  const names = [...PAGE_NAMES, ...Object.keys(READERS)]
  const unknown = [...search.keys()].find(name => name !== KEY && !names.includes(name))
  if (unknown !== undefined)
    throw refusal(unknown.slice(0, 64), `it is none of ${names.join(', ')}`)
  const filters = Object.entries(READERS).flatMap(([name, read]) => {
    const values = search.getAll(name).flatMap(text => text.split(','))
    const texts = values.map(text => text.trim()).filter(text => text !== '')
    if (texts.length > MOST) throw refusal(name, `it has more than ${MOST} values`)
    return texts.length === 0 ? [] : [read(texts, name)]
  })
  return filters.length === 0 ? undefined : Object.assign({}, ...filters)
}
const refusal = (name: string, problem: string) =>
  fault('LIST_FILTER', [name, problem], { param: name })

/** The values themselves, if all have this form. */
const matching = (texts: readonly string[], name: string, form: RegExp): readonly string[] => {
  const invalid = texts.find(text => !form.test(text))
  if (invalid !== undefined) throw refusal(name, `"${invalid.slice(0, 64)}" is not such a value`)
  return texts
}
/** The meaning of the values. */
const namesIn = <T>(
  texts: readonly string[],
  name: string,
  meanings: readonly (readonly [word: string, meaning: T])[],
): readonly T[] => {
  const words = [...new Set(meanings.map(([word]) => word))]
  const invalid = texts.find(text => !words.includes(text))
  if (invalid !== undefined)
    throw refusal(name, `"${invalid.slice(0, 64)}" is none of ${words.join(', ')}`)
  return meanings.filter(([word]) => texts.includes(word)).map(([, meaning]) => meaning)
}
const STATE_NAMES = Object.entries(STATES).map(([state, word]) => [word, state as State] as const)
const TEMPLATES = ENDPOINTS.flatMap(name => {
  const path = FOLDER + name
  const type = TYPES[name]
  return type === undefined
    ? [[name, path] as const]
    : [[type, path] as const, [name, path] as const]
})
const READERS: Readonly<Record<string, (texts: readonly string[], name: string) => Filters>> = {
  task_ids: (texts, name) => ({ ids: matching(texts, name, ID) }),
  states: (texts, name) => ({ states: namesIn(texts, name, STATE_NAMES) }),
  model_versions: (texts, name) => ({ models: matching(texts, name, MODEL) }),
  templates: (texts, name) => ({ paths: namesIn(texts, name, TEMPLATES) }),
  resolutions: (texts, name) => ({ resolutions: matching(texts, name, RESOLUTION) }),
}
