/** Sessions that an identity provider began: their role, and what ends them, on both stores. */
import t from 'tap'
import {
  endProviderSessions,
  giveSessionToIdentity,
} from '../../../plugins/credentials/identity-sessions.ts'
import { addMember, memberNamed } from '../../../plugins/credentials/members.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addSession, FIND, revoke } from '../../../plugins/credentials/statements.ts'
import { openAccountsIn } from '../../helpers/store/accounts.ts'
import { ENGINES, startAnyStore } from '../../helpers/store/store.ts'

for (const engine of ENGINES) {
  t.test(`sessions of a provider: end by sid, by sub and with their key, ${engine}`, async t => {
    const store = await startAnyStore(t, engine)
    const { database, account, key } = await openAccountsIn(await store.open())
    const team = await account('team')
    await database.write(addMember(team, { name: 'ann', role: 'member' }, 1))
    const ann = await memberNamed(database, team, 'ann')
    const { id: identity } = await key(team)
    const begin = async (session: string | undefined, of = identity) => {
      const secret = makeSecret('session')
      const all = { account: team, name: '', secret, expires: 10 ** 13, member: Number(ann?.id) }
      const owner = { identity: of, user: 'user', session, role: 'viewer' } as const
      await database.write([
        ...addSession(all, undefined, 1),
        giveSessionToIdentity(secret.digest, owner),
      ])
      return secret.digest
    }
    const rowOf = async (digest: string) => (await database.read(FIND.session, [digest]))[0]
    const [first, second, third] = [await begin('1'), await begin('2'), await begin(undefined)]
    t.match(await rowOf(first), { revoked: null, member_name: 'ann', member_role: 'viewer' })
    const end = (digest: string, by: 'user' | 'session', of: string, now = 5) =>
      database.write(endProviderSessions({ digest, expires: 100, by, of }, now))
    await end('token 1', 'session', '1')
    t.match(await rowOf(first), { revoked: 5 })
    t.match(await rowOf(second), { revoked: null })
    await t.rejects(end('token 1', 'session', '2'), { code: 'LOGOUT_REPEATED' })
    t.match(await rowOf(second), { revoked: null }, 'a repeated token ends nothing')
    await end('token 1', 'session', 'x', 101)
    await end('token 2', 'user', 'user')
    t.match(await rowOf(second), { revoked: 5 })
    t.match(await rowOf(third), { revoked: 5 })
    const fourth = await begin('4')
    await database.write(revoke('key', identity, 7))
    t.match(await rowOf(fourth), { revoked: 7 })
    await t.rejects(begin('5'), { code: 'KEY_UNKNOWN' }, 'no session of a revoked identity')
  })
}
