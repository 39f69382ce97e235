/** Suggestions for misspelled words. */

import t from 'tap'
import { nearest } from '../../../engine/config/nearest.ts'
import fc from '../../helpers/property.ts'

const KEYS = ['timeout', 'retries', 'balance', 'upstream', 'path', 'name', 'to', 'url']

t.test('suggestions: typing mistakes are recognised', async t => {
  const slips = {
    timout: 'timeout',
    retrys: 'retries',
    ballance: 'balance',
    upstreams: 'upstream',
    'up-stream': 'upstream',
    Path: 'path',
    pth: 'path',
    nmae: 'name',
    two: 'to',
    URL: 'url',
    uppstream: 'upstream',
  }
  for (const [typed, meant] of Object.entries(slips)) t.equal(nearest(typed, KEYS), meant, typed)
})

t.test('suggestions: a different word is not suggested', async t => {
  for (const word of ['header', 'x', 'verbose', 'toggle', 'pipeline'])
    t.equal(nearest(word, KEYS), undefined, word)
  t.equal(nearest('path', ['path']), undefined, 'nor is the word itself')
  t.equal(nearest('anything', []), undefined)
  t.equal(nearest('x', ['y']), 'y', 'one letter for another')
  t.equal(nearest('xyz', ['abc']), undefined)
  t.equal(nearest('gpp', ['gp', 'cl']), 'gp')
  t.equal(nearest('opnai', ['openai', 'open']), 'openai')
})

t.test('suggestions: any single edit in a word of four letters or more is found', async t => {
  const word = fc.stringMatching(/^[a-z]{4,12}$/)
  const letter = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz')
  fc.assert(
    fc.property(word, fc.nat(11), letter, fc.nat(3), (meant, place, other, kind) => {
      const at = place % meant.length
      const [before, here, after] = [meant.slice(0, at), meant[at], meant.slice(at + 1)]
      const slips = [before + after, before + other + after, before + other + here + after]
      const swapped = before + after.slice(0, 1) + here + after.slice(1)
      const typed = [...slips, swapped][kind] ?? meant
      fc.pre(typed !== meant)
      t.equal(nearest(typed, [meant]), meant, `${typed} for ${meant}`)
    }),
    { numRuns: 200 },
  )
})
