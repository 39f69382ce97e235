/** The owner of accepted work: each way in which it loses access, on both stores. */
import type { Test } from 'tap'
import t from 'tap'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { giveSessionToIdentity } from '../../../plugins/credentials/identity-sessions.ts'
import { addMember, giveToMember, removeMember } from '../../../plugins/credentials/members.ts'
import { makeSecret, type Secret } from '../../../plugins/credentials/secret.ts'
import {
  addSession,
  changeCredential,
  deleteAccount,
  FIND,
  replaceSecret,
  revoke,
  suspendAccount,
} from '../../../plugins/credentials/statements.ts'
import { offerOwnerLookup, refusalOfOwner } from '../../../plugins/credentials/work-owner.ts'
import { ACCOUNT, type Account } from '../../../plugins/slots.ts'
import { stillDate } from '../../helpers/clocks.ts'
import { openAccountsIn } from '../../helpers/store/accounts.ts'
import { ENGINES, type Engine, startAnyStore } from '../../helpers/store/store.ts'

/** ms since 1970. */
const START = Date.UTC(2026, 0, 1)
const MINUTE = 60_000

/** A team with a member `ben`, and what reads the access of its work. */
const openTeam = async (t: Test, engine: Engine) => {
  const { database, host, ...accounts } = await openAccountsIn(
    await (await startAnyStore(t, engine)).open(),
  )
  offerOwnerLookup(host)
  const id = await accounts.account('team')
  const added = await database.write(addMember(id, { name: 'ben', role: 'member' }, START))
  const member = { id: Number(added.at(-1)?.[0]?.id), name: 'ben', role: 'member' } as const
  const key = await accounts.key(id)
  /** The code of the refusal of work with this credential; undefined: it may begin. */
  const codeOf = async (credential: Partial<Account>, digest?: string) => {
    const account = { id, name: 'team', role: 'customer', ...credential }
    return (await refusalOfOwner(host, { [ACCOUNT.name]: account as never }, digest))?.code
  }
  const begin = async (from: number | undefined): Promise<{ id: number; digest: string }> => {
    const secret = makeSecret('session')
    const list = addSession({ account: id, name: 's', secret }, from, START)
    const [, [row] = []] = await database.write(list)
    return { id: Number(row?.id), digest: secret.digest }
  }
  const ofKey = { key: { id: key.id, name: 'test' } }
  return { ...accounts, database, id, member, first: key, ofKey, codeOf, begin }
}
const revokeKey = (database: OpenDatabase, id: number) =>
  database.write(revoke('key', id, Date.now()))

for (const engine of ENGINES) {
  t.test(`owner on ${engine}: the work of a key ends at the instant of its expiry`, async t => {
    const clock = stillDate(t, START)
    const { database, id, first, ofKey, codeOf } = await openTeam(t, engine)
    const expires = START + MINUTE
    await database.write(changeCredential('key', first.id, id, { expires }))
    clock.pass(MINUTE - 1)
    t.equal(await codeOf(ofKey), undefined)
    clock.pass(1)
    t.equal(await codeOf(ofKey), 'AUTH_EXPIRED')
    t.equal(await codeOf({}), undefined, 'other work of the account goes on')
    await database.write(changeCredential('key', first.id, id, { expires: null }))
    t.equal(await codeOf(ofKey), undefined)
    const earlier = { digest: first.digest, until: START + 2 * MINUTE }
    const replace = replaceSecret('key', first.id, earlier, makeSecret('key'), Date.now())
    await database.write(replace)
    clock.pass(5 * MINUTE)
    t.equal(await codeOf(ofKey), undefined, 'work belongs to the key, not to its secret')
    await revokeKey(database, first.id)
    t.equal(await codeOf(ofKey), 'AUTH_REVOKED')
  })

  t.test(`owner on ${engine}: an open session ends with the secret that opened it`, async t => {
    const clock = stillDate(t, START)
    const { database, first, ofKey, codeOf } = await openTeam(t, engine)
    const [second, third] = [makeSecret('key'), makeSecret('key')]
    const rotate = (digest: string, until: number | undefined, secret = second) =>
      database.write(replaceSecret('key', first.id, { digest, until }, secret, Date.now()))
    t.equal(await codeOf(ofKey, first.digest), undefined)
    await rotate(first.digest, START + MINUTE)
    clock.pass(MINUTE - 1)
    t.equal(await codeOf(ofKey, first.digest), undefined)
    clock.pass(1)
    t.equal(await codeOf(ofKey, first.digest), 'AUTH_EXPIRED')
    t.equal(await codeOf(ofKey, second.digest), undefined)
    await rotate(second.digest, undefined, third)
    t.equal(await codeOf(ofKey, second.digest), 'AUTH_EXPIRED')
    t.equal(await codeOf(ofKey, third.digest), undefined)
    await revokeKey(database, first.id)
    t.equal(await codeOf(ofKey, third.digest), 'AUTH_REVOKED')
  })

  t.test(`owner on ${engine}: a socket of a console session ends with the session`, async t => {
    const clock = stillDate(t, START)
    const { database, id, codeOf, begin, ...accounts } = await openTeam(t, engine)
    const token = await accounts.token(id)
    const [first, second] = [await begin(token.id), await begin(undefined)]
    const codes = () =>
      Promise.all(
        [first, second].flatMap(({ id: session, digest }) => [
          codeOf({ session }, digest),
          codeOf({ session }),
        ]),
      )
    const secret = makeSecret('system-token')
    const earlier = { digest: token.digest, until: START + MINUTE }
    await database.write(replaceSecret('system-token', token.id, earlier, secret, START))
    clock.pass(MINUTE - 1)
    t.same(await codes(), [undefined, undefined, undefined, undefined])
    clock.pass(1)
    t.same(await codes(), ['AUTH_EXPIRED', undefined, undefined, undefined])
    await database.write(revoke('session', second.id, Date.now()))
    t.same(await codes(), ['AUTH_EXPIRED', undefined, 'AUTH_REVOKED', undefined], 'work goes on')
  })

  t.test(`owner on ${engine}: sessions of a system token end with its secret`, async t => {
    const { database, id, begin, ...accounts } = await openTeam(t, engine)
    const [token, other] = [await accounts.token(id), await accounts.token(id)]
    const sessions = [await begin(token.id), await begin(other.id), await begin(undefined)]
    const expiries = async () => {
      const rows = sessions.map(({ digest }) => database.read(FIND.session, [digest]))
      return (await Promise.all(rows)).map(([row]) => row?.expires && Number(row.expires))
    }
    const rotate = (digest: string, until: number | undefined, secret: Secret, now: number) =>
      database.write(replaceSecret('system-token', token.id, { digest, until }, secret, now))
    const [second, third] = [makeSecret('system-token'), makeSecret('system-token')]
    await rotate(token.digest, START + MINUTE, second, START)
    t.same(await expiries(), [START + MINUTE, null, null])
    const late = await begin(token.id)
    await rotate(second.digest, START + 5 * MINUTE, third, START)
    sessions.push(late)
    t.same(await expiries(), [START + MINUTE, null, null, START + 5 * MINUTE])
    await rotate(third.digest, undefined, makeSecret('system-token'), START + 2)
    t.same(await expiries(), [START + 2, null, null, START + 2])
  })

  t.test(`owner on ${engine}: the work of a member ends when he leaves the team`, async t => {
    const { database, id, member, first, ofKey, codeOf, begin, ...accounts } = await openTeam(
      t,
      engine,
    )
    const passed = await accounts.key(id)
    for (const each of [first, passed])
      await database.write(giveToMember('key', each.id, member.id))
    // The key that passes on before the member leaves goes on.
    await database.write(giveToMember('key', passed.id, null))
    const session = { session: (await begin(undefined)).id, member }
    const work = [session, { ...ofKey, member }, { member }]
    for (const each of work) t.equal(await codeOf(each), undefined)
    await database.write(removeMember({ ...member, account: id }, Date.now()))
    for (const each of work) t.equal(await codeOf(each), 'AUTH_REVOKED')
    t.equal(await codeOf({ key: { id: passed.id, name: 'test' }, member }), undefined)
  })

  t.test(`owner on ${engine}: the work of a session ends with what began it`, async t => {
    const { database, id, first, codeOf, begin, ...accounts } = await openTeam(t, engine)
    const token = await accounts.token(id)
    const [plain, ofToken, ofIdentity] = [
      await begin(undefined),
      await begin(token.id),
      await begin(undefined),
    ]
    const provider = { identity: first.id, user: 'u', session: undefined, role: undefined }
    await database.write([giveSessionToIdentity(ofIdentity.digest, provider)])
    for (const session of [plain, ofToken, ofIdentity])
      await database.write(revoke('session', session.id, Date.now()))
    const stateOf = () =>
      Promise.all([
        codeOf({ session: plain.id }),
        codeOf({ session: ofToken.id }),
        codeOf({ session: ofIdentity.id }),
        codeOf({ token: token.id }),
      ])
    t.same(await stateOf(), [undefined, undefined, undefined, undefined], 'signing out ends none')
    await database.write(revoke('system-token', token.id, Date.now()))
    t.same(await stateOf(), [undefined, 'AUTH_REVOKED', undefined, 'AUTH_REVOKED'])
    await revokeKey(database, first.id)
    t.same(await stateOf(), [undefined, 'AUTH_REVOKED', 'AUTH_REVOKED', 'AUTH_REVOKED'])
  })

  t.test(`owner on ${engine}: all work ends with the account`, async t => {
    const { database, id, member, ofKey, codeOf, begin } = await openTeam(t, engine)
    const work = [{}, ofKey, { session: (await begin(undefined)).id, member }]
    await database.write(suspendAccount(id, Date.now()))
    for (const each of work) t.equal(await codeOf(each), 'AUTH_SUSPENDED')
    await database.write(suspendAccount(id, null))
    for (const each of work) t.equal(await codeOf(each), undefined)
    await database.write(deleteAccount(id, 'team', Date.now()))
    for (const each of work) t.equal(await codeOf(each), 'AUTH_SUSPENDED')
  })
}
