/** `npm ci` works on every machine: the lock file names what another platform would install, although this one does not. */
import { readFileSync } from 'node:fs'
import t from 'tap'

interface Locked {
  readonly version?: string
  readonly integrity?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
interface Lock {
  readonly packages: Readonly<Record<string, Locked>>
}

/** Optional packages that something names and nothing locks. */
const missingFrom = ({ packages }: Lock): string[] =>
  Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      name => !packages[`${path}/node_modules/${name}`] && !packages[`node_modules/${name}`],
    ),
  )

/** Packages whose content nobody would check. */
const uncheckedIn = ({ packages }: Lock): string[] =>
  Object.entries(packages).flatMap(([path, { integrity }]) =>
    path === '' || integrity?.startsWith('sha512-') ? [] : [path],
  )

t.test('every optional package is locked', async t => {
  const file = new URL('../../package-lock.json', import.meta.url)
  const lock = JSON.parse(readFileSync(file, 'utf8')) as Lock
  t.same(missingFrom(lock), [])
  t.same(uncheckedIn(lock), [])
})

t.test('one that is not is found', async t => {
  const packages = { 'node_modules/a': { optionalDependencies: { 'a-other-os': '1.0.0' } } }
  t.same(missingFrom({ packages }), ['a-other-os'])
})

t.test('one without a checksum is found', async t => {
  const packages = { '': {}, 'node_modules/a': { integrity: 'sha512-x' }, 'node_modules/b': {} }
  t.same(uncheckedIn({ packages }), ['node_modules/b'])
})
