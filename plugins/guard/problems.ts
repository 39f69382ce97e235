/** Checks `guards:` and the guards of routes beyond their schemas. */
import { choicesFor } from '../../engine/config/nearest.ts'
import { routesIn } from '../../engine/kit.ts'
import type { Document, Report } from '../../engine/plugin.ts'
import { patternFinder } from '../finders/patterns.ts'
import { type Guard, SECTION } from './section.ts'

export const problemsIn = (document: Document, report: Report): void => {
  const { guards } = document
  const named = SECTION.read((guards ?? {}) as never)
  for (const [name, guard] of Object.entries(named)) checkGuard(name, guard, report)
  for (const [index, route] of routesIn(document)) {
    if (route.guard === undefined) continue
    for (const [position, name] of [route.guard].flat().entries()) {
      if (typeof name !== 'string' || Object.hasOwn(named, name)) continue
      const { choices, suggestion } = choicesFor(name, 'guards', Object.keys(named))
      const message = `no guard is named "${name}"${choices}`
      const entry = Array.isArray(route.guard) ? [position] : []
      report(['routes', index, 'guard', ...entry], 'GUARD_UNKNOWN', message, suggestion)
    }
  }
}

const checkGuard = (name: string, guard: Guard, report: Report): void => {
  const problem = (key: string, message: string): void =>
    report(['guards', name, key], 'GUARD_OPTION', message)
  const { find, words, words_file: file, patterns = {}, webhook, on, on_error: onError } = guard
  const hasFinders = find ?? words ?? file ?? Object.keys(patterns)[0]
  if (hasFinders === undefined && webhook === undefined)
    report(
      ['guards', name],
      'GUARD_OPTION',
      'it finds nothing: it needs `find`, `words`, `words_file`, `patterns` or `webhook`',
    )
  if (webhook !== undefined && onError === undefined)
    problem('webhook', 'say with `on_error: block` or `on_error: pass` what happens if it fails')
  if (webhook !== undefined && hasFinders === undefined && !on.includes('request'))
    problem('on', 'a webhook decides about requests only')
  if (guard.restore && guard.do !== 'mask') problem('restore', 'only `do: mask` has placeholders')
  for (const [key, pattern] of Object.entries(patterns))
    try {
      patternFinder(key, pattern, guard.longest)
    } catch (error) {
      const message = `the pattern is refused by RE2: ${(error as Error).message}`
      report(['guards', name, 'patterns', key], 'GUARD_OPTION', message)
    }
}
