/** The first start on an empty store: one admin account, one key, one system token, shown once. */
import type { Lent } from '../../engine/plugin.ts'
import { makeSecret } from './secret.ts'
import { ANY_ACCOUNT, addKey, addToken, createFirstAccount } from './statements.ts'

export const welcome = async (
  { database, section }: Pick<Lent, 'database' | 'section'>,
  { url }: { readonly url: string },
): Promise<string | undefined> => {
  const [any] = await database.read(ANY_ACCOUNT, [])
  if (any) return undefined
  const now = await database.now()
  const key = makeSecret('key')
  const token = makeSecret('system-token')
  try {
    await database.write([
      ...createFirstAccount(now),
      ...addKey({ account: 1, name: 'first', secret: key }, now),
      ...addToken({ account: 1, name: 'first', secret: token }, now),
    ])
  } catch (error) {
    // Another process was first, and shows its own.
    if ((error as { code?: string }).code === 'ACCOUNT_EXISTS') return undefined
    throw error
  }
  const body = {
    model: pickModel(section('models')),
    messages: [{ role: 'user', content: 'Hello' }],
  }
  return `An admin account was made. Its credentials are shown this once; the store keeps only digests.

  API key       ${key.text}
  System token  ${token.text}

Try it:

  curl ${url}/v1/chat/completions -H 'Authorization: Bearer ${key.text}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'
`
}

/** The one the documentation uses, else the first that is a name and not a pattern. */
const pickModel = (models: Readonly<Record<string, unknown>>): string => {
  if ('gp-4.1' in models) return 'gp-4.1'
  return Object.keys(models).find(name => !/[*{]/.test(name)) ?? 'gp-4.1'
}
