import type { ReachedModel } from '../../../api/contract/models.ts'
import { call } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { Code } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Answer } from '../../parts/page.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { useSession } from '../../session.tsx'
import { snippets } from '../../stream/snippets.ts'

/** How any key is used that somebody has: what was shown beside it when it was made. */
export function UseKey({ onClose }: { onClose(): void }) {
  const models = useQuery('models', signal => call('GET /api/models', {}, signal))
  return (
    <Dialog title="Use a key" shape="dialog wide" onClose={onClose}>
      <p>Put a key of yours in the place of YOUR_KEY. One that is lost cannot be shown: create another.</p>
      <Answer query={models} what="models">
        {({ items }) => <Snippets secret="YOUR_KEY" models={items} />}
      </Answer>
    </Dialog>
  )
}

interface SnippetsProps {
  secret: string
  models: readonly ReachedModel[]
  /** Those of them that the key reaches; null: all. */
  only?: readonly string[] | null
}

/** What to paste where, by client. */
export function Snippets({ secret, models, only = null }: SnippetsProps) {
  const { deployment } = useSession()
  return (
    <Tabs
      label="Clients"
      tabs={snippets({ apiUrl: deployment.api_url, key: secret, models, only }).map(snippet => ({
        id: snippet.id,
        name: snippet.name,
        content: (
          <div class="stack tight">
            <p class="soft">{snippet.place}</p>
            <Code text={snippet.text} what={`the snippet for ${snippet.name}`} />
          </div>
        ),
      }))}
    />
  )
}
