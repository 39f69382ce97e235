/** Keys and tokens: their form, and a store without plain text. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  claimedKind,
  digestOf,
  isWellFormed,
  makeSecret,
  maskSecret,
} from '../../../plugins/credentials/secret.ts'
import { openAccounts } from '../../helpers/accounts.ts'

t.test('secrets: have 256 random bits, a checksum and a prefix by kind', async t => {
  const key = makeSecret('key')
  t.match(key.text, /^sk-[0-9A-Za-z]{49}$/)
  t.match(makeSecret('system-token').text, /^st-[0-9A-Za-z]{49}$/)
  t.equal(key.digest, digestOf(key.text))
  t.match(key.digest, /^[0-9a-f]{64}$/)
  t.equal(maskSecret(key.prefix, key.lastFour), `${key.text.slice(0, 7)}…${key.text.slice(-4)}`)
  t.equal(new Set(Array.from({ length: 1_000 }, () => makeSecret('key').text)).size, 1_000)
  t.equal(
    makeSecret('key', new Uint8Array(32)).text.length,
    makeSecret('key', new Uint8Array(32).fill(255)).text.length,
  )
  t.not(
    makeSecret('key', new Uint8Array(32)).text,
    makeSecret('key', new Uint8Array(32).fill(1)).text,
  )
})

t.test('secrets: the checksum detects typing errors', async t => {
  const { text } = makeSecret('key')
  t.ok(isWellFormed(text))
  for (let at = 0; at < text.length; at++) {
    const other = text[at] === 'x' ? 'y' : 'x'
    t.notOk(isWellFormed(text.slice(0, at) + other + text.slice(at + 1)), `at ${at}`)
  }
  for (const wrong of ['', 'sk-', text.slice(1), `${text} `, text.replace('sk-', 'st-')]) {
    t.notOk(isWellFormed(wrong))
  }
  t.equal(claimedKind(text), 'key')
  t.equal(claimedKind('st-anything'), 'system-token')
  t.equal(claimedKind('Bearer'), undefined)
})

t.test('secrets: the store contains no key in plain text', async t => {
  const accounts = await openAccounts(t)
  const ann = await accounts.account('ann')
  const secrets = [await accounts.key(ann), await accounts.key(ann), await accounts.token(ann)]
  await accounts.route('key')({ headers: { 'x-api-key': secrets[0]?.text ?? '' } })
  const files = readdirSync(accounts.store.data).filter(name => !name.endsWith('.socket'))
  t.ok(files.includes('tollgate.db-wal'))
  const bytes = Buffer.concat(files.map(name => readFileSync(join(accounts.store.data, name))))
  for (const { text, digest, lastFour } of secrets) {
    t.ok(bytes.includes(digest), 'the digest is stored')
    t.ok(bytes.includes(lastFour))
    // Any eight consecutive characters beyond the shown prefix would be a leak.
    for (let at = 3; at + 8 <= text.length; at++) {
      if (bytes.includes(text.slice(at, at + 8))) t.fail(`${at} of the key is in the store`)
    }
  }
})
