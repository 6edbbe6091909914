import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS with one data node on loopback; ends with its input. */
public class HdfsServer {
  public static void main(String[] arguments) throws Exception {
    Configuration settings = new Configuration();
    settings.set("hdfs.minidfs.basedir", arguments[0]);
    settings.setBoolean("dfs.datanode.synconclose", false);
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(settings).numDataNodes(1).build();
    cluster.waitActive();
    System.out.println("PORT " + cluster.getNameNodePort());
    System.out.flush();
    while (System.in.read() >= 0) {}
    cluster.shutdown();
    System.exit(0);
  }
}
