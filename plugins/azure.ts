/** `auth: { azure: … }`: access tokens of Microsoft Entra ID by client credentials. */
import type { Plugin } from '../engine/plugin.ts'
import { formRequest, requestToken } from './access-tokens/token-endpoint.ts'
import { createTokenSigner } from './access-tokens/token-signer.ts'

interface AzureOptions {
  readonly tenant: string
  readonly client: string
  readonly secret: string
  readonly scope?: string
  readonly authority?: string
}
const SCOPE = 'https://cognitiveservices.azure.com/.default'
const AUTHORITY = 'https://login.microsoftonline.com'

const schema = {
  description: 'Sends access tokens of Microsoft Entra ID, by client credentials.',
  type: 'object',
  additionalProperties: false,
  required: ['tenant', 'client', 'secret'],
  properties: {
    tenant: {
      description: 'Id or domain of the tenant.',
      type: 'string',
      pattern: '^[A-Za-z0-9.-]+$',
      examples: ['contoso.onmicrosoft.com'],
    },
    client: {
      description: 'Id of the application.',
      type: 'string',
      minLength: 1,
      examples: ['${AZURE_CLIENT_ID}'],
    },
    secret: {
      description: 'Secret of the application.',
      type: 'string',
      minLength: 1,
      format: 'password',
      examples: ['${AZURE_CLIENT_SECRET}'],
    },
    scope: {
      description: `What the token is for; default ${SCOPE}.`,
      type: 'string',
      minLength: 1,
      examples: [SCOPE],
    },
    authority: {
      description: `Address of the identity service; default ${AUTHORITY}.`,
      type: 'string',
      pattern: '^https?://[^\\s?#]+$',
      examples: ['https://login.microsoftonline.us'],
    },
  },
  examples: [
    {
      tenant: 'contoso.onmicrosoft.com',
      client: '${AZURE_CLIENT_ID}',
      secret: '${AZURE_CLIENT_SECRET}',
    },
  ],
}

export default {
  schema: { description: 'It has no options on a route.', type: 'object', examples: [{}] },
  setup: () => ({}),
  auth: {
    schema,
    setup: (options: AzureOptions, host) => {
      const { tenant, client, secret, scope = SCOPE, authority = AUTHORITY } = options
      const url = `${authority.replace(/\/+$/, '')}/${tenant}/oauth2/v2.0/token`
      const form = formRequest({
        grant_type: 'client_credentials',
        client_id: client,
        client_secret: secret,
        scope,
      })
      return createTokenSigner(host, options, () =>
        requestToken(host.request, url, form, [secret, encodeURIComponent(secret)]),
      )
    },
  },
} satisfies Plugin
