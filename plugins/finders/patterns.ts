/** Patterns of an operator, in RE2's syntax: time is linear in the text. */
import { RE2JS } from 're2js'
import { matcherOf } from '../schema/patterns.ts'
import type { Finder, Match } from './finder.ts'

/** Throws for a pattern that RE2 refuses, and for one that matches the empty text. `longest`:
 *  characters by which a stream is held back. */
export const patternFinder = (label: string, pattern: string, longest: number): Finder => {
  const compiled = RE2JS.compile(pattern)
  if (compiled.matcher('').find()) throw new Error('it matches the empty text')
  // The test is ten times as fast as the search for positions.
  const tester = matcherOf(pattern)
  return {
    label: label.toUpperCase(),
    find(text) {
      const matches: Match[] = []
      if (!tester.test(text)) return matches
      const matcher = compiled.matcher(text)
      while (matcher.find()) matches.push({ start: matcher.start(), end: matcher.end() })
      return matches
    },
    openFrom: text => Math.max(0, text.length - longest + 1),
  }
}
