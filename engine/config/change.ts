/** Summarises the differences of two versions for a reload: names only, since values may be
 *  secret. */
import { isDeepStrictEqual } from 'node:util'
import { isFields } from '../kit.ts'
import type { Json } from '../plugin.ts'
import type { Blueprint } from './compile/blueprint.ts'

type Map = { readonly [key: string]: Json }

/** Number of changes that are listed; the summary counts the others. */
const MAX_CHANGES = 6

/** `1 route added, upstream main timeout changed, plugins/stamp.ts rebuilt` */
export const describeChange = (before: Blueprint, after: Blueprint): string => {
  const names = new Set([...Object.keys(before.document), ...Object.keys(after.document)])
  names.delete('include')
  const changes = [
    ...[...names].flatMap(name => section(name, before.document[name], after.document[name])),
    ...plugins(before, after),
    ...files(before.files ?? {}, after.files ?? {}),
  ]
  if (changes.length === 0) return 'no visible change'
  const rest = changes.length - MAX_CHANGES
  const summary = changes.slice(0, MAX_CHANGES).join(', ')
  return rest > 0 ? `${summary}, and ${rest} more` : summary
}

const section = (name: string, before: Json | undefined, after: Json | undefined): string[] => {
  if (isDeepStrictEqual(before, after)) return []
  if (name === 'routes') return entries('route', routes(before), routes(after), 'routes reordered')
  if (name === 'settings') {
    const keys = changedKeys(isFields(before) ? before : {}, isFields(after) ? after : {})
    return [`settings ${keys.join(' and ')} changed`]
  }
  if ((before === undefined || isFields(before)) && (after === undefined || isFields(after)))
    return entries(name.replace(/s$/, ''), before ?? {}, after ?? {}, `${name} reordered`)
  return [`${name} changed`]
}
const routes = (value: Json | undefined): Map =>
  Object.fromEntries(
    (Array.isArray(value) ? (value as readonly Map[]) : []).map(route => [
      String(route.name ?? route.path),
      route,
    ]),
  )

const entries = (noun: string, before: Map, after: Map, reorderText: string): string[] => {
  const addedNames = Object.keys(after).filter(name => !Object.hasOwn(before, name))
  const removedNames = Object.keys(before).filter(name => !Object.hasOwn(after, name))
  const changedNames = changedKeys(before, after).filter(
    name => Object.hasOwn(before, name) && Object.hasOwn(after, name),
  )
  const parts = [
    ...countText(addedNames.length, noun, 'added'),
    ...countText(removedNames.length, noun, 'removed'),
    ...(changedNames.length > 2
      ? countText(changedNames.length, noun, 'changed')
      : changedNames.map(name => `${noun} ${name}${keysOf(before[name], after[name])} changed`)),
  ]
  return parts.length > 0 ? parts : [reorderText]
}
const countText = (count: number, noun: string, change: string) =>
  count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'} ${change}`]

/** The changed keys of one entry, if there are at most two. */
const keysOf = (before: Json | undefined, after: Json | undefined): string => {
  if (!isFields(before) || !isFields(after)) return ''
  const keys = changedKeys(before, after)
  return keys.length > 2 ? '' : ` ${keys.join(' and ')}`
}
const changedKeys = (before: Map, after: Map): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    key => !isDeepStrictEqual(before[key], after[key]),
  )

const plugins = (before: Blueprint, after: Blueprint): string[] =>
  files(
    Object.fromEntries(before.plugins.map(({ file, hash }) => [file, hash])),
    Object.fromEntries(after.plugins.map(({ file, hash }) => [file, hash])),
    'rebuilt',
  )

const files = (
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
  changeWord = 'changed',
): string[] =>
  changedKeys(before, after).map(file => {
    const change =
      before[file] === undefined ? 'added' : after[file] === undefined ? 'removed' : changeWord
    return `${file} ${change}`
  })
