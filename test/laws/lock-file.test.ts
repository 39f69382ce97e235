/** `npm ci` works on every platform: the lock file names the optional packages of all of them. */
import { readFileSync } from 'node:fs'
import t from 'tap'

interface LockedPackage {
  readonly version?: string
  readonly integrity?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** Optional packages that a package names and the lock file lacks. */
const missingFrom = ({ packages }: Lock): string[] =>
  Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      name => !packages[`${path}/node_modules/${name}`] && !packages[`node_modules/${name}`],
    ),
  )

/** Packages without a checksum. */
const uncheckedIn = ({ packages }: Lock): string[] =>
  Object.entries(packages).flatMap(([path, { integrity }]) =>
    path === '' || integrity?.startsWith('sha512-') ? [] : [path],
  )

t.test('lock file: locks every optional package with a checksum', async t => {
  const file = new URL('../../package-lock.json', import.meta.url)
  const lock = JSON.parse(readFileSync(file, 'utf8')) as Lock
  t.same(missingFrom(lock), [])
  t.same(uncheckedIn(lock), [])
})

t.test('lock file: a missing optional package is found', async t => {
  const packages = { 'node_modules/a': { optionalDependencies: { 'a-other-os': '1.0.0' } } }
  t.same(missingFrom({ packages }), ['a-other-os'])
})

t.test('lock file: a package without a checksum is found', async t => {
  const packages = { '': {}, 'node_modules/a': { integrity: 'sha512-x' }, 'node_modules/b': {} }
  t.same(uncheckedIn({ packages }), ['node_modules/b'])
})
