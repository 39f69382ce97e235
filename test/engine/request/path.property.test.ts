/** Canonical paths: in any spelling the routed path is the forwarded one. */
import t from 'tap'
import { readTarget } from '../../../engine/request/path.ts'
import { scaled } from '../../helpers/long.ts'
import fc from '../../helpers/property.ts'

const RUNS = scaled(10_000, 1_000_000)
const PIECES = [
  'a',
  'closed',
  '.',
  '..',
  '/',
  '//',
  '%2e',
  '%2E',
  '%2f',
  '%5c',
  '\\',
  '%25',
  '%',
  ';',
  '#',
  '?',
  '%00',
  '%41',
  '%c3%a9',
  '%ff',
  ':',
  '@',
  '~',
  ' ',
  '\u00e9',
  '%zz',
]
const targets = fc
  .array(
    fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...PIECES) }, fc.string({ maxLength: 3 })),
    { maxLength: 8 },
  )
  .map(pieces => `/${pieces.join('')}`)

/** The canonical path, or undefined where it is refused. */
const pathOf = (target: string): string | undefined => {
  try {
    return readTarget(target, 'x').path
  } catch (error) {
    if ((error as { status?: number }).status === 400) return undefined
    throw error
  }
}

t.test('path: a canonical path is unchanged', async t => {
  fc.assert(
    fc.property(targets, target => {
      const path = pathOf(target)
      return path === undefined || pathOf(path) === path
    }),
    { numRuns: RUNS },
  )
  t.pass(`${RUNS} targets`)
})

t.test('path: every reader finds the same path in a canonical one', async t => {
  fc.assert(
    fc.property(targets, target => {
      const path = pathOf(target)
      if (path === undefined) return true
      // WHATWG URL resolves dot segments and turns backslashes round, as lenient back ends do.
      const { pathname } = new URL(`http://x${path}`)
      return (
        pathname === path && decodeURIComponent(path).split('/').length === path.split('/').length
      )
    }),
    { numRuns: RUNS },
  )
  t.pass(`${RUNS} targets`)
})

t.test('path: plain paths are accepted', async t => {
  const plain = fc.array(
    fc.stringMatching(/^[A-Za-z0-9\-_~!$&'()*+,=:@][A-Za-z0-9\-._~!$&'()*+,=:@]*$/),
    { minLength: 1, maxLength: 6 },
  )
  fc.assert(
    fc.property(plain, segments => pathOf(`/${segments.join('/')}`) === `/${segments.join('/')}`),
    { numRuns: 2_000 },
  )
  t.pass()
})
