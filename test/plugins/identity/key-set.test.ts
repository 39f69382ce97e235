/** The keys of a real provider: when they are read, rotated keys, and a provider that is away. */
import t, { type Test } from 'tap'
import { createOperatorRequest } from '../../../engine/egress/operator-request.ts'
import { KeySet, type KeySetHost } from '../../../plugins/identity-provider/key-set.ts'
import { SECTION } from '../../../plugins/identity-provider/section.ts'
import { Verifier } from '../../../plugins/identity-provider/verifier.ts'
import { eventually } from '../../helpers/eventually.ts'
import { AUDIENCE, forge, makeKeys, openProvider } from './provider.ts'

const FIRST = makeKeys('first')
const SECOND = makeKeys('second')
const UNAVAILABLE = { code: 'IDENTITY_UNAVAILABLE', status: 503, retryable: true }

/** `clock.ms`: the time that the key set sees. */
const start = async (t: Test, more: { jwks?: string; file?: () => string } = {}) => {
  const provider = await openProvider(t)
  const { jwks, file = () => '' } = more
  const section = SECTION.read({
    issuer: provider.issuer,
    audience: AUDIENCE,
    ...(jwks && { jwks: jwks.replace('ISSUER', provider.issuer) }),
  })
  const clock = { ms: 0 }
  const warnings: string[] = []
  const log = { warn: (_: object, text: string) => void warnings.push(text) }
  const host = { request: createOperatorRequest(), file, log } as unknown as KeySetHost
  const keys = new KeySet(section, host, () => clock.ms)
  const verifier = new Verifier(section, host, keys)
  const verify = async (token: string) => (await verifier.verify(token)).identity.subject
  let number = 0
  /** Another token each time, so that none is known. */
  const token = (signer = FIRST, kid = 'first-rsa') =>
    forge(
      {
        iss: provider.issuer,
        aud: AUDIENCE,
        sub: 'robot',
        exp: Math.floor(Date.now() / 1_000) + 600,
        jti: ++number,
      },
      signer.rsa,
      { kid },
    )
  return { provider, verify, token, clock, warnings, keys }
}

t.test('key set: rotated keys are found, and withdrawn ones end', async t => {
  const { provider, verify, token, clock } = await start(t)
  await provider.start(FIRST)
  const first = await provider.token()
  t.equal(await verify(first), 'robot')
  await provider.stop()
  await provider.start(SECOND)
  clock.ms += 30_000
  t.equal(await verify(await provider.token()), 'robot', 'an unknown kid reads the keys again')
  t.equal(await verify(first), 'robot', 'a verified token stays until its end')
  await t.rejects(verify(token()), { code: 'JWT_INVALID', message: /no such key/ })
  t.equal(provider.keyRequests(), 2)
  clock.ms += 600_001
  await verify(await provider.token())
  await eventually(() => provider.keyRequests() > 2)
  t.equal(provider.keyRequests(), 3, 'old keys are read again beside the call')
})

t.test('key set: many unknown keys read the keys once in 30 s', async t => {
  const { provider, verify, token, clock } = await start(t)
  await provider.start(FIRST)
  await verify(token())
  clock.ms += 30_000
  const flood = () =>
    Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        t.rejects(verify(token(FIRST, `kid ${index}`)), { code: 'JWT_INVALID' }),
      ),
    )
  await flood()
  await flood()
  t.equal(provider.keyRequests(), 2)
  clock.ms += 29_999
  await flood()
  t.equal(provider.keyRequests(), 2)
  clock.ms += 1
  await flood()
  t.equal(provider.keyRequests(), 3)
  t.equal(await verify(token()), 'robot', 'known keys go on')
})

t.test('key set: a provider that is away at the start is asked again', async t => {
  const { provider, verify, token, clock, warnings } = await start(t)
  await t.rejects(verify(token()), UNAVAILABLE)
  await provider.start(FIRST)
  await t.rejects(verify(token()), UNAVAILABLE, 'within the pause')
  t.equal(provider.keyRequests(), 0)
  clock.ms += 1_000
  t.equal(await verify(token()), 'robot')
  t.match(warnings, [/its tokens are refused/])
})

t.test('key set: known keys stay while the provider is away', async t => {
  const { provider, verify, token, clock, warnings, keys } = await start(t)
  await provider.start(FIRST)
  await verify(token())
  await provider.stop()
  clock.ms += 86_400_000
  t.equal(await verify(token()), 'robot')
  await keys.refresh(0)
  t.equal(await verify(token()), 'robot')
  await t.rejects(verify(token(SECOND, 'second-rsa')), { code: 'JWT_INVALID' })
  t.match(warnings, [/the known keys stay valid/])
  await provider.start(SECOND)
  clock.ms += 30_000
  t.equal(await verify(token(SECOND, 'second-rsa')), 'robot')
})

t.test('key set: keys come from a URL or from a file, too', async t => {
  const url = await start(t, { jwks: 'ISSUER/jwks' })
  await url.provider.start(FIRST)
  t.equal(await url.verify(url.token()), 'robot')
  const file = await start(t, { jwks: 'keys.json', file: () => JSON.stringify(FIRST.jwks) })
  t.equal(await file.verify(file.token()), 'robot')
  const secret = { keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: 'shared' }] }
  const shared = await start(t, { jwks: 'keys.json', file: () => JSON.stringify(secret) })
  await t.rejects(shared.verify(shared.token(FIRST, 'shared')), { code: 'JWT_INVALID' })
  for (const text of ['', '{}', '{"keys":1}', '[]', 'null']) {
    const bad = await start(t, { jwks: 'keys.json', file: () => text })
    await t.rejects(bad.verify(bad.token()), UNAVAILABLE, text)
  }
})

t.test('key set: the discovery document must be that of the issuer', async t => {
  const { provider, token } = await start(t)
  await provider.start(FIRST)
  const other = SECTION.read({ issuer: `${provider.issuer}/`, audience: AUDIENCE })
  const log = { warn() {} }
  const host = { request: createOperatorRequest(), log } as unknown as KeySetHost
  await t.rejects(Promise.resolve(new Verifier(other, host).verify(token())), UNAVAILABLE)
})
